internal import PCastHLS
internal import Synchronization

/// The part that a playlist says will be next, asked for before it is there (`EXT-X-PRELOAD-HINT`).
final class PartHints: Sendable {
    private struct Hinted {
        var uri: String
        var start: Int64
        var task: Task<[UInt8]?, Never>
    }

    private let fetcher: HLSFetcher
    private let hinted = Mutex<Hinted?>(nil)

    init(_ fetcher: HLSFetcher) { self.fetcher = fetcher }

    /// Asks for it, unless it has been asked for.
    func follow(_ hint: PreloadHint?, base: URIReference) {
        guard let hint else { return }
        let uri = URIReference(hint.uri).resolved(against: base).text
        let stale: Hinted? = hinted.withLock { hinted in
            if let old = hinted, old.uri == uri, old.start == hint.start { return nil }
            defer {
                let fetcher = fetcher
                // Without a range where it is the whole: then it may not be known how long it will be.
                let range = hint.start == 0 && hint.length == nil ? nil : (hint.start, hint.length)
                let task = Task { await Self.fetch(uri, range, by: fetcher) }
                hinted = Hinted(uri: uri, start: hint.start, task: task)
            }
            return hinted
        }
        stale?.task.cancel()
    }

    private static func fetch(
        _ uri: String, _ range: (offset: Int64, length: Int64?)?, by fetcher: HLSFetcher
    ) async -> [UInt8]? {
        let collected = Mutex<[UInt8]>([])
        do throws(LoadFailure) {
            try await fetcher.stream(uri, range: range, limit: HLSFetcher.segmentLimit) { piece, _ in
                collected.withLock { $0 += piece }
            }
        } catch { return nil }
        return collected.withLock { $0 }
    }

    /// The bytes of a part that was asked for; nil where it was not, or did not come.
    func take(_ uri: String, _ range: ByteRange?) async -> [UInt8]? {
        let task: Task<[UInt8]?, Never>? = hinted.withLock { hinted in
            guard let old = hinted, old.uri == uri, old.start == range?.offset ?? 0 else { return nil }
            hinted = nil
            return old.task
        }
        guard let bytes = await task?.value, range.map({ $0.length == Int64(bytes.count) }) ?? true else { return nil }
        return bytes
    }

    func stop() { hinted.withLock { $0 }?.task.cancel() }
}
