import PCastCore

@testable import PCastPlayback

/// Reading of a content by tests.
extension PlaybackContent {
    /// Returns the next frame's stamp and position; nil at the end.
    func readStamp() throws -> (counter: Int, position: TimeSpan)? {
        while let item = try read() {
            guard case .frame(let frame, let position, _) = item else { continue }
            return (TestPatternStrip.read(frame).map { Int($0.counter) } ?? -1, position)
        }
        return nil
    }

    /// Returns the items until `isEnough` returns true, or until the end.
    func readItems(until isEnough: (ContentItem) -> Bool = { _ in false }) throws -> [ContentItem] {
        var items: [ContentItem] = []
        while let item = try read() {
            items.append(item)
            if isEnough(item) { break }
        }
        return items
    }
}

extension [ContentItem] {
    var stamps: [Int] {
        compactMap {
            guard case .frame(let frame, _, _) = $0 else { return nil }
            return TestPatternStrip.read(frame).map { Int($0.counter) } ?? -1
        }
    }

    var frameTimes: [TimeSpan] {
        compactMap { if case .frame(_, let position, _) = $0 { position } else { nil } }
    }

    var audioFrames: [AudioFrame] {
        compactMap { if case .audio(let audio, _) = $0 { audio } else { nil } }
    }

    var texts: [(String, ClosedRange<TimeSpan>)] {
        compactMap { if case .subtitle(let text, let range) = $0 { (text, range) } else { nil } }
    }

    var metadata: [TimedMetadata] {
        compactMap { if case .metadata(let metadata) = $0 { metadata } else { nil } }
    }

    /// The frequency of the first audio channel, from its zero crossings; nil if there is too little audio.
    var tone: Double? {
        let samples = audioFrames.flatMap { audio in
            stride(from: 0, to: audio.samples.count, by: audio.channels).map { audio.samples[$0] }
        }
        guard samples.count > 4_800 else { return nil }
        // The encoder's delay and the beginning are nearly silent and have many zero crossings.
        let height = 1_000
        var (crossings, isLow): ([Int], Bool) = ([], false)
        for (index, sample) in samples.enumerated() {
            if sample < -height { isLow = true }
            guard isLow, sample > height else { continue }
            crossings.append(index)
            isLow = false
        }
        guard let first = crossings.first, let last = crossings.last, last > first else { return nil }
        return Double(crossings.count - 1) * 48_000 / Double(last - first)
    }
}
