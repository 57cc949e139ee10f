internal import PCastHLS
internal import Synchronization

/// The requests for the partial segments that a playlist announces as the next one (`EXT-X-PRELOAD-HINT`), before they
/// are available.
///
/// The playlist that announces the next part also lists the one before it, which may still be in transfer and is about to
/// be taken. So two requests are kept, and a third one cancels the first.
final class PartHints: Sendable {
    private struct Hinted {
        var uri: String
        var start: Int64
        var task: Task<[UInt8]?, Never>
    }

    private let fetcher: HLSFetcher
    /// The requests in their order.
    private let hinted = Mutex<[Hinted]>([])

    /// The maximum number of requests.
    private static let capacity = 2

    /// Creates a client without a request.
    init(_ fetcher: HLSFetcher) { self.fetcher = fetcher }

    /// Requests the announced part, unless it is requested already.
    func follow(_ hint: PreloadHint?, base: URIReference) {
        guard let hint else { return }
        let uri = URIReference(hint.uri).resolved(against: base).text
        let stale: Hinted? = hinted.withLock { hinted in
            if hinted.contains(where: { $0.uri == uri && $0.start == hint.start }) { return nil }
            let fetcher = fetcher
            // A whole resource is requested without a range, because its length may be unknown.
            let range = hint.start == 0 && hint.length == nil ? nil : (hint.start, hint.length)
            let task = Task { await Self.fetch(uri, range, by: fetcher) }
            hinted.append(Hinted(uri: uri, start: hint.start, task: task))
            return hinted.count > Self.capacity ? hinted.removeFirst() : nil
        }
        stale?.task.cancel()
    }

    /// Loads a part; nil on failure.
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

    /// Returns the bytes of a part that was announced; nil if it was not requested, failed, or has another length.
    func take(_ uri: String, _ range: ByteRange?) async -> [UInt8]? {
        let (task, stale): (Task<[UInt8]?, Never>?, ArraySlice<Hinted>) = hinted.withLock { hinted in
            guard let index = hinted.firstIndex(where: { $0.uri == uri && $0.start == range?.offset ?? 0 }) else {
                return (nil, [])
            }
            // Earlier parts are not needed any more.
            defer { hinted.removeFirst(index + 1) }
            return (hinted[index].task, hinted[..<index])
        }
        for earlier in stale { earlier.task.cancel() }
        guard let bytes = await task?.value, range.map({ $0.length == Int64(bytes.count) }) ?? true else { return nil }
        return bytes
    }

    /// Cancels the requests.
    func stop() {
        for request in hinted.withLock({ $0 }) { request.task.cancel() }
    }
}
