import PCastCore

/// The parameter sets of an H.264 stream. They are inserted before key frames without parameter sets, because a viewer
/// that joins there could not decode them.
struct H264ParameterSetCache: Sendable {
    private struct Entry: Hashable, Sendable {
        let type: UInt8
        let id: UInt32
        var bytes: [UInt8]
    }

    /// The most parameter sets, and the most bytes of each, that are stored. Cameras and encoders stay far below.
    private static let maximumCount = 32
    private static let maximumSize = 4096

    private var entries: [Entry] = []
    /// The color description of the container, for sequence parameter sets without one.
    private let declared: VideoColor?
    /// The reason why frames with the last sequence parameter set cannot be passed through; nil if they can.
    private(set) var transcodeReason: TranscodeReason?
    /// Whether a color description was added to a parameter set.
    private(set) var addsColor = false

    init(declared: VideoColor? = nil) { self.declared = declared }

    /// Whether there are a sequence and a picture parameter set.
    var isComplete: Bool {
        entries.contains { $0.type == H264UnitType.sequenceParameterSet }
            && entries.contains { $0.type == H264UnitType.pictureParameterSet }
    }

    /// The parameter sets in Annex B, sequence parameter sets first.
    var annexB: [UInt8] {
        [H264UnitType.sequenceParameterSet, H264UnitType.pictureParameterSet].flatMap { type in
            entries.filter { $0.type == type }.flatMap { [0, 0, 0, 1] + $0.bytes }
        }
    }

    /// The profile of the last sequence parameter set; nil without one.
    var profile: H264ProfileIDC? {
        guard let set = entries.last(where: { $0.type == H264UnitType.sequenceParameterSet }), set.bytes.count >= 4
        else { return nil }
        return H264ProfileIDC(number: set.bytes[1], constraints: set.bytes[2])
    }

    /// Stores the parameter sets of an access unit. Each one replaces the previous one with its ID.
    mutating func remember(from accessUnit: UnsafeRawBufferPointer) {
        var reader = H264UnitReader(accessUnit)
        while let unit = reader.next() {
            let type = unit[0] & H264UnitType.mask
            guard type == H264UnitType.sequenceParameterSet || type == H264UnitType.pictureParameterSet,
                unit.count <= Self.maximumSize
            else { continue }
            let bytes = type == H264UnitType.sequenceParameterSet ? learn(unit) : Array(unit)
            // The ID follows profile, constraints and level, or comes first (ITU-T H.264, sections 7.3.2.1.1 and
            // 7.3.2.2).
            var window = H264BitWindow(unit, offset: type == H264UnitType.sequenceParameterSet ? 4 : 1)
            guard let id = window.unsignedExponentialGolomb(), id < 256 else { continue }
            if let index = entries.firstIndex(where: { $0.type == type && $0.id == id }) {
                if entries[index].bytes != bytes { entries[index].bytes = bytes }
            } else if entries.count < Self.maximumCount {
                entries.append(Entry(type: type, id: id, bytes: bytes))
            }
        }
    }

    /// Records what a sequence parameter set declares. Returns the set, with a color description added if viewers would
    /// otherwise show wrong colors.
    private mutating func learn(_ unit: UnsafeRawBufferPointer) -> [UInt8] {
        let described = described(unit)
        addsColor = addsColor || described != nil
        if let set = H264SPS(unit) {
            let square = set.sampleAspectRatio?.squareDimensions(of: set.dimensions) ?? set.dimensions
            transcodeReason = !set.isProgressive ? .interlaced : square != set.dimensions ? .anamorphic : nil
        }
        return described ?? Array(unit)
    }

    /// Returns a sequence parameter set with a color description added; nil if it has one or does not need one.
    /// Receivers assume BT.601 without a description, which is wrong for high definition and for containers that
    /// declare another one.
    func described(_ unit: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let set = H264SPS(unit), set.matrixCode == nil else { return nil }
        let assumed = VideoColor.assumed(for: set.dimensions)
        guard declared != nil || assumed.matrix != .bt601 else { return nil }
        return set.describing(declared ?? assumed)
    }

    /// Returns the sequence and picture parameter sets of an access unit in Annex B, as containers require them.
    static func annexB(in bytes: [UInt8]) -> [UInt8] {
        var sets = H264ParameterSetCache()
        bytes.withUnsafeBytes { sets.remember(from: $0) }
        return sets.annexB
    }

    /// Returns the first sequence parameter set of an access unit; nil if none can be parsed.
    static func sequenceParameterSet(in bytes: [UInt8]) -> H264SPS? {
        bytes.withUnsafeBytes { bytes in
            var reader = H264UnitReader(bytes)
            while let unit = reader.next() {
                if let set = H264SPS(unit) { return set }
            }
            return nil
        }
    }
}

/// An H.264 profile as in a sequence parameter set (ITU-T H.264, annex A).
package struct H264ProfileIDC: Hashable, Sendable, CustomStringConvertible {
    /// The value of `profile_idc`.
    package let number: UInt8
    /// The six constraint flags, with `constraint_set0_flag` as the highest bit, and two reserved bits.
    package let constraints: UInt8

    /// Creates a profile from `profile_idc` and the byte of constraint flags.
    package init(number: UInt8, constraints: UInt8) {
        self.number = number
        self.constraints = constraints
    }

    /// Whether WebRTC receivers decode it: 4:2:0 with 8 bits, without data partitioning.
    package var isWidelyDecodable: Bool { [66, 77, 100].contains(number) }

    /// The name of the profile, such as `constrained baseline`.
    package var description: String {
        switch number {
        case 66: constraints & 0x40 != 0 ? "constrained baseline" : "baseline"
        case 77: "main"
        case 88: "extended"
        case 100: constraints & 0x0C == 0x0C ? "constrained high" : "high"
        case 110: "high 10"
        case 122: "high 4:2:2"
        case 244: "high 4:4:4 predictive"
        default: "profile \(number)"
        }
    }
}

/// An iterator over the NAL units of a byte stream (ITU-T H.264, annex B) that does not copy.
struct H264UnitReader {
    private let bytes: UnsafeRawBufferPointer
    /// The index after the last start code that was found; nil after the last NAL unit.
    private var position: Int?

    /// Creates a reader. The bytes must stay valid while it is used.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        position = Self.startCode(in: bytes, from: 0).map { $0 + 3 }
    }

    /// Returns the next NAL unit that is not empty, without trailing zeros; nil after the last one.
    mutating func next() -> UnsafeRawBufferPointer? {
        while let start = position {
            let following = Self.startCode(in: bytes, from: start)
            position = following.map { $0 + 3 }
            var end = following ?? bytes.count
            while end > start, bytes[end - 1] == 0 { end -= 1 }
            if end > start { return UnsafeRawBufferPointer(rebasing: bytes[start..<end]) }
        }
        return nil
    }

    /// Returns the index of the next start code 00 00 01. It examines every third byte: a byte above 1 is no part of a
    /// start code, and neither of the two bytes before it can start one.
    private static func startCode(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start + 2
        while index < bytes.count {
            switch bytes[index] {
            case 0: index += 1
            case 1 where bytes[index - 1] == 0 && bytes[index - 2] == 0: return index - 2
            default: index += 3
            }
        }
        return nil
    }
}
