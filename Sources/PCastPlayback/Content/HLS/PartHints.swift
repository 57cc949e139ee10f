internal import PCastCore
internal import PCastHLS
internal import PCastIO
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
        var task: Task<PartTransfer?, Never>
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
    ) async -> PartTransfer? {
        do throws(LoadFailure) { return try await PartTransfer.load(uri, range, by: fetcher) } catch { return nil }
    }

    /// Returns a part that was announced; nil if it was not requested, failed, or has another length.
    func take(_ uri: String, _ range: ByteRange?) async -> PartTransfer? {
        let (task, stale): (Task<PartTransfer?, Never>?, ArraySlice<Hinted>) = hinted.withLock { hinted in
            guard let index = hinted.firstIndex(where: { $0.uri == uri && $0.start == range?.offset ?? 0 }) else {
                return (nil, [])
            }
            // Earlier parts are not needed any more.
            defer { hinted.removeFirst(index + 1) }
            return (hinted[index].task, hinted[..<index])
        }
        for earlier in stale { earlier.task.cancel() }
        guard let part = await task?.value, range.map({ $0.length == Int64(part.bytes.count) }) ?? true else {
            return nil
        }
        return part
    }

    /// Cancels the requests.
    func stop() {
        for request in hinted.withLock({ $0 }) { request.task.cancel() }
    }
}

/// A partial segment with the measurement of its transfer.
struct PartTransfer: Sendable {
    var bytes: [UInt8] = []
    /// The bytes after the first packet, which arrived within `span`.
    var measuredCount: Int64 = 0
    /// The time from the first to the last bytes. The server may have held the response before.
    var span = TimeSpan.zero

    /// The bytes that a packet carries over Ethernet.
    private static let packetSize = 1_460

    /// Loads a part, or a range of a resource.
    static func load(
        _ uri: String, _ range: (offset: Int64, length: Int64?)?, by fetcher: HLSFetcher
    ) async throws(LoadFailure) -> PartTransfer {
        let collected = Mutex((part: PartTransfer(), began: Instant?.none))
        try await fetcher.stream(uri, range: range, limit: HLSFetcher.segmentLimit) { piece, _ in
            let now = MonotonicClock.now()
            collected.withLock { state in
                let began = state.began ?? now
                state.began = began
                state.part.bytes += piece
                state.part.span = now - began
            }
        }
        var part = collected.withLock { $0.part }
        part.measuredCount = Int64(max(0, part.bytes.count - packetSize))
        return part
    }
}
