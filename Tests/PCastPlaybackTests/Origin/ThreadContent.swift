import PCastCore
import PCastIO

@testable import PCastPlayback

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
