import PCastCore
import PCastPlayback

/// The reports of a browser about the audio of a page: one in each line.
enum PageAudioTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var timeline = PageAudioTimeline()
        var isRead = false
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n")).prefix(16).enumerated() {
            guard let piece = PageAudioPiece(String(decoding: line, as: UTF8.self)) else { continue }
            isRead = true
            try check(
                piece.samples.isEmpty || piece.samples.count == piece.frames * piece.channels,
                "\(piece.samples.count) samples")
            let arrival = Instant(nanoseconds: Int64(index + 1) * 10_000_000)
            guard let (audio, _) = timeline.take(piece, at: arrival) else { continue }
            // The lowest rate becomes six times as many samples.
            try check(audio.sampleCount <= (piece.frames + 64) * 6, "\(audio.sampleCount) of \(piece.frames) samples")
        }
        return isRead
    }

    static let corpus: [[UInt8]] = [
        "1590000 44100 2 4 AAAAAAEAAgADAAQABQAGAA==\n1600000 44100 2 441",
        "0 48000 1 3 AAABAAIA\n62 48000 1 3 AAABAAIA",
        "7 8000 1 1 /38=", "1000000000000000 192000 2 1 AAAAAA==",
    ].map { Array($0.utf8) }
}
