import PCastCore
import PCastHLS

/// The data of segments in addition to audio and video: captions, ID3 tags, event messages, tags of packed audio, and
/// subtitles in fragmented MP4. The first byte selects the kind.
enum SegmentTextTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let body = Array(bytes.dropFirst())
        switch bytes.first.map({ $0 % 5 }) {
        case 0: return try captions(body)
        case 1: return try tag(body)
        case 2: return try messages(body)
        case 3: return try packedTags(body)
        case 4: return try subtitles(body)
        default: return false
        }
    }

    private static func captions(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let segment = WebVTTSegment(bytes) else { return false }
        for cue in segment.cues {
            try check(cue.start < cue.end, "a caption that ends before it begins")
            try check(cue.text.utf8.count <= 3 * bytes.count, "a caption that is longer than its file")
        }
        return !segment.cues.isEmpty
    }

    private static func tag(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let tag = ID3Tag(bytes) else { return false }
        try check(tag.frames.reduce(0) { $0 + $1.bytes.count } <= bytes.count, "frames that are larger than their tag")
        if let timestamp = tag.transportTimestamp { try check((0..<(1 << 33)).contains(timestamp), "no timestamp") }
        return !tag.frames.isEmpty
    }

    private static func messages(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let all = EventMessage.all(in: bytes)
        try check(all.reduce(0) { $0 + $1.message.count } <= bytes.count, "messages that are larger than their boxes")
        for message in all { try check(message.time >= .zero, "a message before time") }
        return !all.isEmpty
    }

    private static func packedTags(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let all = PackedAudioTags.all(in: bytes)
        try check(all.reduce(0) { $0 + $1.tag.size } <= bytes.count, "tags that are larger than their segment")
        try check(all.count <= 256, "too many tags")
        for (earlier, later) in zip(all, all.dropFirst()) {
            try check(earlier.offset <= later.offset, "a tag before the one before it")
        }
        return !all.isEmpty
    }

    /// The bytes are the initialization section and the segment.
    private static func subtitles(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let track = FragmentedSubtitles(initialization: bytes) else { return false }
        let cues = track.cues(in: bytes)
        try check(cues.count <= 10_000, "too many subtitles")
        for cue in cues { try check(cue.start < cue.end, "a subtitle that ends before it begins") }
        var position = 0
        for count in [bytes.count / 3, bytes.count * 2 / 3, bytes.count] {
            let isComplete = count == bytes.count
            let part = track.cues(in: Array(bytes.prefix(count)), after: &position, isComplete: isComplete)
            try check(part.count <= 10_000 && (0...count).contains(position), "more than has arrived")
        }
        return !cues.isEmpty
    }

    static let corpus: [[UInt8]] = [
        [0] + Array(captionText.utf8), [1] + tagBytes(version: 3), [1] + tagBytes(version: 4),
        [2] + box(version: 0), [2] + box(version: 1) + box(version: 0),
        [3] + tagBytes(version: 4) + audioFrame + audioFrame + tagBytes(version: 3),
        [4] + fragmentedText("wvtt", box("vttc", box("payl", Array("<i>Hello</i> &amp; more".utf8))) + box("vtte", [])),
        [4] + fragmentedText("stpp", Array(timedText.utf8)),
    ]

    private static let timedText = """
        <?xml version="1.0"?><!-- a --><tt xmlns="http://www.w3.org/ns/ttml" ttp:frameRate="25" ttp:tickRate="1000">
        <head><metadata>none</metadata></head><body begin="1s"><div timeContainer="seq" xml:space="preserve">
        <p begin="00:00:01:05" dur='500ms'>Hello &#x3A9; &amp;<br/><span end="9t">a</span><![CDATA[<b>]]></p></div>
        <p end="01:00:00.5">b</p></body></tt>
        """

    /// Returns an initialization section and a fragment with one sample.
    private static func fragmentedText(_ coding: String, _ sample: [UInt8]) -> [UInt8] {
        let header = box("tkhd", [UInt8](repeating: 0, count: 12) + [0, 0, 0, 1])
        let media = box("mdhd", [UInt8](repeating: 0, count: 12) + [0, 0, 3, 0xE8])
        let entries = box("stsd", [0, 0, 0, 0, 0, 0, 0, 1] + box(coding, [0, 0, 0, 0, 0, 0, 0, 1]))
        let track = box("trak", header + box("mdia", media + box("minf", box("stbl", entries))))
        let defaults = box("trex", [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0x20, 0, 0, 0, 0, 0])
        func fragment(_ offset: Int) -> [UInt8] {
            let run = [
                0, 0, 2, 1, 0, 0, 0, 1, 0, 0, 0, UInt8(offset), 0, 0, UInt8(sample.count >> 8),
                UInt8(sample.count & 255),
            ]
            let time = box("tfdt", [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0xE8])
            let parts = box("tfhd", [0, 2, 0, 0, 0, 0, 0, 1]) + time + box("trun", run)
            return box("moof", box("traf", parts))
        }
        return box("moov", track + box("mvex", defaults)) + fragment(fragment(0).count + 8) + box("mdat", sample)
    }

    private static func box(_ type: String, _ contents: [UInt8]) -> [UInt8] {
        let size = contents.count + 8
        return [0, 0, UInt8(size >> 8), UInt8(size & 255)] + Array(type.utf8) + contents
    }

    /// A frame of ADTS with two bytes of audio.
    private static let audioFrame: [UInt8] = [0xFF, 0xF1, 0x4C, 0x80, 0x01, 0x3F, 0xFC, 0x21, 0x10]

    private static let captionText = """
        WEBVTT - a title
        X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000

        NOTE nothing

        1
        00:00:01.000 --> 00:00:02.500 align:start line:90%
        <v Roger>Hello &amp; <i>good</i> day
        second line

        01:00:00.000 --> 100:00:00.001
        later

        """

    private static func tagBytes(version: UInt8) -> [UInt8] {
        func frame(_ id: String, _ body: [UInt8]) -> [UInt8] {
            Array(id.utf8) + [0, 0, 0, UInt8(body.count), 0, 0] + body
        }
        let moment: [UInt8] = [0, 0, 0, 1, 0, 0, 0x70, 0x80]
        let frames =
            frame("PRIV", Array("com.apple.streaming.transportStreamTimestamp".utf8) + [0] + moment)
            + frame("TXXX", [3] + Array("json".utf8) + [0] + Array(#"{"ut":1767225600000}"#.utf8))
            + frame("COMM", [1, 0x65, 0x6E, 0x67, 0xFF, 0xFE, 0x61, 0, 0, 0, 0xFF, 0xFE, 0x62, 0])
            + frame("TIT2", [0, 0x61, 0xE4])
        return [0x49, 0x44, 0x33, version, 0, 0, 0, 0, UInt8(frames.count >> 7), UInt8(frames.count & 0x7F)] + frames
    }

    private static func box(version: UInt8) -> [UInt8] {
        let names = Array("urn:scheme:example\0value\0".utf8)
        let (scale, span, id): ([UInt8], [UInt8], [UInt8]) = ([0, 1, 0x5F, 0x90], [0, 0, 0x10, 0], [0, 0, 0, 7])
        let body =
            version == 0
            ? names + scale + [0, 0, 1, 0] + span + id
            : scale + [0, 0, 0, 1, 0, 0, 1, 0] + [0xFF, 0xFF, 0xFF, 0xFF] + id + names
        let whole = [version, 0, 0, 0] + body + Array("{}".utf8)
        return [0, 0, 0, UInt8(whole.count + 8)] + Array("emsg".utf8) + whole
    }
}
