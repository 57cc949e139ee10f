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
    private let fetcher: HLSFetcher
    /// The requests in their order.
    private let hinted = Mutex<[PartRequest]>([])

    /// The maximum number of requests.
    private static let capacity = 2
    /// The time in which the first bytes of a part that exists must arrive. A server may never answer the request of a part
    /// that it announced and then did not create.
    private static let timeout = TimeSpan.seconds(2 as Int64)

    /// Creates a client without a request.
    init(_ fetcher: HLSFetcher) { self.fetcher = fetcher }

    /// Requests the announced part, unless it is requested already.
    func follow(_ hint: PreloadHint?, base: URIReference) {
        guard let hint else { return }
        let uri = URIReference(hint.uri).resolved(against: base).text
        let stale: PartRequest? = hinted.withLock { hinted in
            if hinted.contains(where: { $0.uri == uri && $0.start == hint.start }) { return nil }
            // A whole resource is requested without a range, because its length may be unknown.
            let range = hint.start == 0 && hint.length == nil ? nil : (hint.start, hint.length)
            hinted.append(PartRequest(uri, range, by: fetcher))
            return hinted.count > Self.capacity ? hinted.removeFirst() : nil
        }
        stale?.cancel()
    }

    /// Returns the request of a part that was announced; nil if it was not requested.
    private func request(_ uri: String, from start: Int64) -> PartRequest? {
        let (request, stale): (PartRequest?, ArraySlice<PartRequest>) = hinted.withLock { hinted in
            guard let index = hinted.firstIndex(where: { $0.uri == uri && $0.start == start }) else {
                return (nil, [])
            }
            // Earlier parts are not needed any more.
            defer { hinted.removeFirst(index + 1) }
            return (hinted[index], hinted[..<index])
        }
        for earlier in stale { earlier.cancel() }
        return request
    }

    /// Returns a part that was announced and now exists; nil if it was not requested, failed, is not answered, or has
    /// another length.
    func take(_ uri: String, _ range: ByteRange?) async -> PartTransfer? {
        guard let request = request(uri, from: range?.offset ?? 0) else { return nil }
        let alarm = Task {
            guard (try? await Task.sleep(for: Self.timeout.duration)) != nil, !request.hasBegun else { return }
            request.cancel()
        }
        defer { alarm.cancel() }
        guard case .success(let part) = await request.result,
            range.map({ $0.length == Int64(part.bytes.count) }) ?? true
        else { return nil }
        return part
    }

    /// Cancels the requests.
    func stop() {
        for request in hinted.withLock({ $0 }) { request.cancel() }
    }
}

/// The request of a partial segment.
struct PartRequest: Sendable {
    let uri: String
    /// The offset of the first byte in the resource.
    let start: Int64
    private let arrival = PartArrival()
    private let task: Task<Result<PartTransfer, LoadFailure>, Never>

    /// Requests a part, or a range of a resource.
    init(_ uri: String, _ range: (offset: Int64, length: Int64?)?, by fetcher: HLSFetcher) {
        (self.uri, start) = (uri, range?.offset ?? 0)
        task = Task { [arrival] in
            do throws(LoadFailure) {
                try await fetcher.stream(uri, range: range, limit: HLSFetcher.segmentLimit) { piece, _ in
                    arrival.take(piece)
                }
                return .success(arrival.transfer)
            } catch { return .failure(error) }
        }
    }

    /// Whether bytes have arrived.
    var hasBegun: Bool { arrival.hasBegun }

    /// The part, or the failure of the request. The cancellation of the task that waits cancels the request.
    var result: Result<PartTransfer, LoadFailure> {
        get async {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    /// Cancels the request.
    func cancel() { task.cancel() }
}

/// A partial segment with the measurement of its transfer.
struct PartTransfer: Sendable {
    var bytes: [UInt8] = []
    /// The bytes after the first packet, which arrived within `span`.
    var measuredCount: Int64 = 0
    /// The time from the first to the last bytes. The server may have held the response before.
    var span = TimeSpan.zero
}

/// The bytes of a part while they arrive.
private final class PartArrival: Sendable {
    private let state = Mutex((part: PartTransfer(), began: Instant?.none))

    /// The bytes that a packet carries over Ethernet.
    private static let packetSize = 1_460

    /// Adds bytes.
    func take(_ piece: [UInt8]) {
        let now = MonotonicClock.now()
        state.withLock { state in
            let began = state.began ?? now
            state.began = began
            state.part.bytes += piece
            state.part.span = now - began
        }
    }

    /// Whether bytes have arrived.
    var hasBegun: Bool { state.withLock { $0.began } != nil }

    /// The part so far.
    var transfer: PartTransfer {
        var part = state.withLock { $0.part }
        part.measuredCount = Int64(max(0, part.bytes.count - Self.packetSize))
        return part
    }
}
