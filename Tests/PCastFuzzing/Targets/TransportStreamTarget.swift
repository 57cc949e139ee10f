import PCastCore
import PCastRTMP
import PCastSRT
import PCastTestSupport

/// The transport stream of an SRT publisher. The first byte determines the pieces in which the rest arrives.
enum TransportStreamTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let size = Int(input.byte()) + 1
        let stream = input.rest()
        let whole = events(stream, size: max(stream.count, 1))
        let pieces = events(stream, size: size)
        try check(whole == pieces, "events that depend on the pieces of \(size) bytes")
        // A byte belongs to at most one frame, and a table describes at most 32 streams.
        try check(whole.count <= 64 * (stream.count + 1), "\(whole.count) events of \(stream.count) bytes")
        for case .accessUnit(let unit) in whole {
            try check(!unit.bytes.isEmpty, "an empty frame")
            try check((unit.presentationTime - unit.decodingTime).magnitude <= .seconds(10), "a frame far away")
            if unit.codec == .hevc { try checkH265(unit) }
        }
        for case .metadata(let metadata) in whole {
            for text in metadata.audioTracks.values.compactMap(\.language) {
                guard let tag = LanguageTag(text) else { continue }
                try check(LanguageTag(tag.description) == tag, "a language with several forms: \(text)")
            }
        }
        return whole.contains { if case .configuration = $0 { true } else { false } }
    }

    /// Checks that decoding can begin with each key frame, and that packetizers can send each unit.
    private static func checkH265(_ unit: RTMPAccessUnit) throws(BrokenInvariant) {
        let types = unit.bytes.withByteView { view in
            var reader = AnnexBReader(view)
            var types: Set<UInt8> = []
            while let unit = reader.nextUnit() { types.insert(HEVCUnit.type(unit[0])) }
            return types
        }
        try check(types.allSatisfy { $0 < HEVCUnit.firstUnspecified }, "a unit that is none of H.265")
        let isRandomAccess = types.contains { HEVCUnit.randomAccessPoints.contains($0) }
        try check(unit.isKeyFrame == isRandomAccess, "a key frame without a random access point, or the reverse")
        try check(
            !isRandomAccess || HEVCUnit.parameterSets.allSatisfy { types.contains($0) }, "missing parameter sets")
    }

    private static func events(_ bytes: [UInt8], size: Int) -> [RTMPServerEvent] {
        var demuxer = TransportStreamDemuxer()
        var events: [RTMPServerEvent] = []
        var position = 0
        while position < bytes.count {
            let end = min(position + size, bytes.count)
            demuxer.receive(bytes.span.extracting(position..<end)) { events.append($0) }
            position = end
        }
        demuxer.finish { events.append($0) }
        return events
    }

    static let corpus: [[UInt8]] = {
        var first = TransportStreamBuilder()
        first.program([.h264, .aac, .opus, .hevc])
        first.media(.h264, TransportStreamBuilder.keyFrame(), presentation: 0x1_FFFF_FF00, decoding: 0x1_FFFF_0000)
        first.media(.aac, TransportStreamBuilder.adts([1, 2, 3]), presentation: 0, hasLength: true)
        first.media(.opus, TransportStreamBuilder.opus([1, 2, 3]), presentation: 0, hasLength: true)
        first.media(.h264, TransportStreamBuilder.interFrame(), presentation: 3_000, decoding: 100)
        var second = TransportStreamBuilder()
        second.append([1, 2, 0x47, 3])
        second.program([.h264])
        second.media(.h264, TransportStreamBuilder.keyFrame(), presentation: 900)
        second.program([.h264, .aac], version: 1)
        second.media(.aac, TransportStreamBuilder.adts([9]) + [0xFF, 0xF1], presentation: nil, hasLength: true)
        var third = TransportStreamBuilder()
        third.program([.hevc, .opus])
        third.media(.hevc, TransportStreamBuilder.hevcKeyFrame(size: 20), presentation: 900)
        third.media(.hevc, [0, 0, 1, 0x44, 1, 0xC1, 0x73, 0, 0, 1, 0x2A, 1, 0xAC, 1], presentation: 4_500)
        third.media(.hevc, [0, 0, 1, 0x02, 1, 0xD0, 1], presentation: 8_100)
        third.media(.hevc, [0, 0, 1, 0x26, 1, 0xAC, 1], presentation: 11_700)
        var fourth = TransportStreamBuilder()
        let german = TransportStreamBuilder.Stream(
            pid: 300, type: 0x0F, descriptors: [0x0A, 4] + Array("ger".utf8) + [3])
        fourth.program([german, .aac])
        fourth.media(german, TransportStreamBuilder.adts([1, 2, 3]), presentation: 0, hasLength: true)
        return [[0] + first.bytes, [187] + second.bytes, [60] + third.bytes, [63] + fourth.bytes]
    }()
}

/// The stream ID of an SRT client.
enum SRTStreamIDTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let id = try? SRTStreamID(String(decoding: bytes, as: UTF8.self)) else { return false }
        let texts = [id.user ?? "", id.resource] + id.capabilities
        let size = texts.reduce(0) { $0 + $1.utf8.count }
        try check(size <= SRTStreamID.maximumSize, "\(size) bytes of a stream ID")
        try check(!id.description.contains(id.credential) || id.credential.count <= 9, "a key in the description")
        return true
    }

    static let corpus: [[UInt8]] = [
        "#!::r=live,m=publish,u=studio,s=key-1,capabilities=a;b", "#!::m=request,r=stream-1,t=stream,h=host",
        "publish:ingest/key-1;capabilities=audio-only,streaming", "/ingest/key-1",
    ].map { Array($0.utf8) }
}

/// A section with a splice message of a publisher.
enum SpliceInformationTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        // The checksum would reject almost all inputs, so that a correct one is added.
        let splice =
            SpliceInformation(bytes) ?? SpliceInformation(TransportStreamBuilder.splice(Array(bytes.prefix(4_000))))
        guard let splice else { return false }
        try check(splice.section.count <= SpliceInformation.maximumSize, "\(splice.section.count) bytes of a section")
        try check(splice.time ?? 0 < 1 << 33, "a time of more than 33 bits")
        try check((splice.duration ?? .zero) >= .zero, "a negative duration")
        return true
    }

    /// Bodies of sections, from the version of the protocol: an insert, and a time signal with a segmentation descriptor.
    static let corpus: [[UInt8]] = [
        [
            0, 0, 0, 0, 0, 0, 0, 0xFF, 0xF0, 20, 5, 0, 0, 0, 7, 0x7F, 0xEF, 0xFE, 0, 1, 0x5F, 0x90, 0x7E, 0, 0x29, 0x32,
            0xE0,
        ]
            + [0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0xFF, 0xF0, 5, 6, 0xFE, 0, 1, 0x5F, 0x90, 0, 22, 2, 20] + Array("CUEI".utf8)
            + [0, 0, 0, 1, 0x7F, 0xFF, 0, 0, 0x29, 0x32, 0xE0, 0, 0, 0x34, 1, 1],
    ]
}
