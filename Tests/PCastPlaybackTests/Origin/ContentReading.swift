import PCastCore
import PCastIO

@testable import PCastPlayback

extension TestOrigin {
    /// Returns a presentation of this server. A busy machine does not reach its timeout, after which a request is repeated,
    /// an alternative is played, or the content fails.
    func content(_ path: String) -> HLSContent {
        HLSContent(uri(path), configuration: .init(timeout: .seconds(600)))
    }
}

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

/// A content that calls another one on a separate thread per call, like the pipeline's reader. The calls block, which
/// Swift's own threads must not do.
final class ThreadContent: Sendable {
    let content: any PlaybackContent

    init(_ content: any PlaybackContent) { self.content = content }

    var overview: ContentOverview? { content.overview }

    func close() { content.close() }

    private func run<Result: Sendable>(
        _ body: @escaping @Sendable (any PlaybackContent) throws -> Result
    ) async throws -> Result {
        let content = content
        return try await withCheckedThrowingContinuation { continuation in
            do {
                _ = try WorkerThread(name: "reader") { continuation.resume(with: Swift.Result { try body(content) }) }
            } catch { continuation.resume(throwing: error) }
        }
    }

    func open() async throws -> TimeSpan { try await run { try $0.open() } }

    func seek(to position: TimeSpan) async throws -> TimeSpan { try await run { try $0.seek(to: position) } }

    func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) async throws {
        try await run { try $0.select(track, of: kind) }
    }

    func read() async throws -> ContentItem? { try await run { try $0.read() } }

    func readStamp() async throws -> (counter: Int, position: TimeSpan)? { try await run { try $0.readStamp() } }

    func readItems(
        until isEnough: @escaping @Sendable (ContentItem) -> Bool = { _ in false }
    ) async throws -> [ContentItem] { try await run { try $0.readItems(until: isEnough) } }

    /// Returns the items up to a frame at this position or after it.
    func readItems(to position: TimeSpan) async throws -> [ContentItem] {
        try await readItems { if case .frame(_, let time, _) = $0 { time >= position } else { false } }
    }

    /// Returns the reason why it cannot be opened or read to its end; nil if it can.
    func failure() async -> PlaybackError? {
        do {
            _ = try await open()
            while try await read() != nil {}
            return nil
        } catch { return error as? PlaybackError }
    }
}
