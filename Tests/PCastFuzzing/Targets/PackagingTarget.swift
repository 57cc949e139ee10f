import PCastCore
import PCastEdgeAuth
import PCastHLS
import PCastPackaging

/// Packages access units of a publisher. The first byte of the input selects the codec of the video. Each chunk begins with two
/// bytes that move the timestamp and the capture time; an empty chunk is a loss.
enum PackagingTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let codecs: [Codec] = [.h264, .h265, .av1, .vp9]
        let codec = codecs[Int(bytes.first ?? 0) % codecs.count]
        var input = FuzzInput(Array(bytes.dropFirst()))
        var packager = StreamPackager(
            PackagerConfiguration(instance: "f"),
            renditions: [
                RenditionDescription(name: "v", source: .video, bitrate: .kilobits(500)),
                RenditionDescription(name: "a", source: .opus(channels: 2), bitrate: .kilobits(64)),
            ])
        var timestamp: Int64 = 0
        var captured = WallTime(millisecondsSinceEpoch: 1_767_225_600_000)
        while !input.isAtEnd {
            let chunk = input.chunk()
            guard chunk.count > 2 else {
                packager.framesLost(in: "v")
                continue
            }
            // Mostly some frames, sometimes hours, also backwards.
            let step = Int64(Int8(bitPattern: chunk[0]))
            timestamp &+= step * (chunk[1] & 1 == 0 ? 1_500 : 90_000 * 600)
            captured = captured + .milliseconds(step * (chunk[1] & 2 == 0 ? 17 : 600_000))
            let unit = AccessUnit(codec: codec, bytes: Array(chunk[2...]), timestamp: timestamp, captureTime: captured)
            packager.append(unit, to: chunk[1] & 4 == 0 ? "v" : "a")
            if chunk[1] & 8 != 0 { packager.advance(to: captured + .seconds(Int64(chunk[1] >> 4))) }
        }
        try inspect(packager)
        packager.finish()
        return try inspect(packager)
    }

    /// Checks the playlists and files. Returns whether there are any.
    @discardableResult
    private static func inspect(_ packager: StreamPackager) throws(BrokenInvariant) -> Bool {
        var isThere = false
        for name in packager.names {
            guard let playlist = packager.mediaPlaylist(of: name) else { continue }
            let text = playlist.text
            let read = try? MediaPlaylist(text)
            try check(read == playlist, "a playlist that is read differently: \(text)")
            for segment in playlist.segments where !segment.isGap {
                guard let file = packager.file(.segment(segment.number), of: name) else {
                    throw BrokenInvariant(description: "segment \(segment.number) has no file")
                }
                try check(isFragments(file), "segment \(segment.number) does not consist of fragments")
                isThere = true
            }
            try check(playlist.segments.count < 2_000, "\(playlist.segments.count) segments")
        }
        return isThere
    }

    /// Returns whether bytes are pairs of a movie fragment and its data.
    private static func isFragments(_ bytes: [UInt8]) -> Bool {
        var offset = 0
        var isFragmentNext = true
        while offset < bytes.count {
            let header = Array(bytes[offset...].prefix(8))
            let type = Array((isFragmentNext ? "moof" : "mdat").utf8)
            guard header.count == 8, Array(header[4...]) == type else { return false }
            let size = header[..<4].reduce(0) { size, byte in size << 8 | Int(byte) }
            guard size >= 8, size <= bytes.count - offset else { return false }
            offset += size
            isFragmentNext.toggle()
        }
        return isFragmentNext
    }

    static let corpus: [[UInt8]] = [
        [0] + FuzzInput.chunks((0..<16).flatMap { number in frames(PayloadTarget.accessUnits, UInt8(number)) }),
        [0]
            + FuzzInput.chunks([
                [0, 0] + PayloadTarget.accessUnits[0], [40, 0] + PayloadTarget.accessUnits[1], [],
                [90, 8] + PayloadTarget.accessUnits[0], [1, 3] + PayloadTarget.accessUnits[1],
                [255, 2] + PayloadTarget.accessUnits[0], [3, 0xF8] + PayloadTarget.accessUnits[0],
            ]),
        [1] + FuzzInput.chunks((0..<16).flatMap { number in frames(PayloadTarget.h265Units, UInt8(number)) }),
        // Frames in another order than they are decoded.
        [1]
            + FuzzInput.chunks([
                [2, 0] + PayloadTarget.h265Units[0], [6, 0] + PayloadTarget.h265Units[1],
                [252, 0] + PayloadTarget.h265Units[1], [2, 0] + PayloadTarget.h265Units[1],
                [6, 0] + PayloadTarget.h265Units[0],
            ]),
        [2] + FuzzInput.chunks((0..<16).flatMap { number in frames(PayloadTarget.av1Units, UInt8(number)) }),
        [3] + FuzzInput.chunks((0..<16).flatMap { number in frames(PayloadTarget.vp9Frames, UInt8(number)) }),
    ]

    /// Returns the chunks of a video frame and an audio packet. Each eighth frame is a key frame, the first of two units.
    private static func frames(_ units: [[UInt8]], _ number: UInt8) -> [[UInt8]] {
        let video: [UInt8] = [2, 0] + units[number % 8 == 0 ? 0 : 1]
        let audio: [UInt8] = [0, 4, 0xFC, 1, number]
        return [video, audio]
    }
}

/// The text of requests for HLS: names of files, directives, and signatures of paths.
enum VideoRequestTarget {
    private static let signer = PathSigner(key: [UInt8](repeating: 7, count: PathSigner.keySize))
    private static let time = WallTime(millisecondsSinceEpoch: 1_767_225_600_000)
    private static let signature = signer.signature(of: "stream", at: time)

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        let file = PackagedFile(name: text, instance: "i")
        if let file { try check(name(of: file) == text, "a file with two names: \(text)") }
        let directives = DeliveryDirectives(query: text)
        if let directives {
            let isComplete = directives.part == nil || directives.segment != nil
            try check(isComplete, "a part without a segment: \(text)")
            try check(min(directives.segment ?? 0, directives.part ?? 0) >= 0, "a negative number: \(text)")
        }
        let isSigned = signer.check(text, of: "stream", at: time) == .valid
        try check(isSigned == (text == signature), "a second signature: \(text)")
        return file != nil || isSigned || directives != nil && directives != DeliveryDirectives()
    }

    private static func name(of file: PackagedFile) -> String {
        switch file {
        case .initialization(let number): "i-init\(number).mp4"
        case .segment(let number): "i-\(number).m4s"
        case .part(let number, let index): "i-\(number).\(index).m4s"
        case .key(let number): "i-key\(number).key"
        }
    }

    static let corpus: [[UInt8]] = [
        "i-init0.mp4", "i-7.m4s", "i-1234567.12.m4s", "i-key3.key", "_HLS_msn=7",
        "_HLS_msn=7&_HLS_part=3&_HLS_skip=YES", "token=a&_HLS_msn=99999999", signature,
    ].map { Array($0.utf8) }
}
