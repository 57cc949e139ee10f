import PCastCodecs
import PCastCore

/// Frames of H.265 from an address, which are sent as they are. The first chunk is the header of the container, a
/// configuration record or parameter sets in Annex B. Each other one is a frame.
enum H265PassThroughTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let header = input.chunk()
        let configuration = header.withByteView { HEVCDecoderConfiguration($0) }
        var through = H265PassThrough(parameterSets: configuration?.parameterSets ?? header)
        var count: Int64 = 0
        var hasBegun = false
        while !input.isAtEnd {
            var accessUnit = input.chunk()
            if let configuration { accessUnit = accessUnit.withByteView { configuration.annexB($0) } ?? [] }
            count += 1
            let frame: EncodedFrame?
            do throws(TranscodeReason) {
                frame = try through.pass(
                    accessUnit, timestamp: MediaTime(ticks: count * 3_000, rate: .video), captureTime: nil)
            } catch {
                return true
            }
            guard let frame else { continue }
            try check(hasBegun || frame.isKeyFrame, "a first frame that is no key frame")
            try check(frame.bytes.count <= 2 * accessUnit.count + 32_768, "\(frame.bytes.count) bytes of a frame")
            let types = Self.types(frame.bytes)
            try check(
                !frame.isKeyFrame || HEVCUnit.parameterSets.allSatisfy { types.contains($0) },
                "a key frame with the units \(types)")
            hasBegun = true
        }
        return hasBegun || configuration != nil
    }

    private static func types(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withByteView { bytes in
            var types: [UInt8] = []
            var reader = AnnexBReader(bytes)
            while let unit = reader.nextUnit() { types.append(HEVCUnit.type(unit[0])) }
            return types
        }
    }

    private static let sets: [[UInt8]] = [
        hexadecimal("40010c01ffff01600000030090000003000003003c928090"),
        hexadecimal("42010101600000030090000003000003003ca01a20796592a4932bc05a020000030002000003003210"),
        hexadecimal("4401c172b46240"),
    ]
    private static let keyFrame = hexadecimal("2601af") + Array(1...60)
    private static let frame = hexadecimal("0201d0") + Array(1...40)

    private static func annexB(_ units: [[UInt8]]) -> [UInt8] { units.flatMap { [0, 0, 0, 1] + $0 } }

    static let corpus: [[UInt8]] = [
        FuzzInput.chunks([[], annexB(sets + [keyFrame]), annexB([frame])]),
        FuzzInput.chunks([annexB(sets), annexB([keyFrame]), annexB([frame]), annexB([[0x43, 1, 1], keyFrame])]),
        FuzzInput.chunks([record, prefixed(keyFrame), prefixed(frame)]),
    ]

    /// A configuration record with the parameter sets.
    private static var record: [UInt8] {
        var record: [UInt8] = [1] + [UInt8](repeating: 0, count: 20) + [3, 3]
        for set in sets {
            record += [set[0] >> 1, 0, 1, 0, UInt8(set.count)]
            record += set
        }
        return record
    }

    /// Returns a unit after its length.
    private static func prefixed(_ unit: [UInt8]) -> [UInt8] { [0, 0, 0, UInt8(unit.count)] + unit }
}
