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

    /// Creates a client without a request.
    init(_ fetcher: HLSFetcher) { self.fetcher = fetcher }

    /// Requests the announced part, unless it is requested already.
    func follow(_ hint: PreloadHint?, base: URIReference) {
        guard let hint else { return }
        let uri = base.address(of: hint.uri)
        let stale: PartRequest? = hinted.withLock { hinted in
            if hinted.contains(where: { $0.uri == uri && $0.start == hint.start }) { return nil }
            // A whole resource is requested without a range, because its length may be unknown.
            let range = hint.start == 0 && hint.length == nil ? nil : (hint.start, hint.length)
            hinted.append(PartRequest(uri, range, by: fetcher))
            return hinted.count > Self.capacity ? hinted.removeFirst() : nil
        }
        stale?.cancel()
    }

    /// Returns and removes the request of a part that was announced; nil if it was not requested.
    func take(_ uri: String, from start: Int64) -> PartRequest? {
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
                try await fetcher.stream(uri, range: range, limit: HLSFetcher.segmentLimit) { piece, length in
                    arrival.take(piece, of: length)
                }
                return .success(arrival.transfer)
            } catch { return .failure(error) }
        }
    }

    /// The interval at which the progress of a part that exists is reported.
    private static let interval = TimeSpan.milliseconds(100)
    /// The time in which the first bytes of a part that exists must arrive. A server may never answer the request of a part
    /// that it announced and then did not create.
    private static let responseTimeout = TimeSpan.seconds(2 as Int64)

    /// Waits for a part that exists now, and reports its progress meanwhile. If `limitsResponse` is true, the request fails
    /// if nothing arrives for some time.
    func result(
        limitsResponse: Bool, progress: @escaping @Sendable (PartProgress) -> Void
    ) async -> Result<PartTransfer, LoadFailure> {
        let began = MonotonicClock.now()
        let watching = Task { [self] in
            while (try? await Task.sleep(for: Self.interval.duration)) != nil {
                let current = arrival.progress(since: began)
                if limitsResponse, current.received == 0, current.elapsed >= Self.responseTimeout { return cancel() }
                progress(current)
            }
        }
        defer { watching.cancel() }
        return await completion
    }

    /// The part, or the failure of the request. The cancellation of the task that waits cancels the request.
    private var completion: Result<PartTransfer, LoadFailure> {
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
    /// The total number of bytes; nil if the server does not report it, because it sends the part while it is created.
    var length: Int64?
    /// The bytes that arrived within `span`.
    var measuredCount: Int64 = 0
    /// The time from the first to the last bytes. The server may have held the response before.
    var span = TimeSpan.zero
}

/// The progress of a part's transfer.
struct PartProgress: Sendable {
    var received: Int64
    /// The total number of bytes; nil if the server does not report it.
    var length: Int64?
    /// The time from which the part was awaited.
    var awaited: Instant
    /// The time since the first byte, or since the part was awaited.
    var elapsed: TimeSpan
}

/// The bytes of a part while they arrive.
private final class PartArrival: Sendable {
    private struct State {
        var part = PartTransfer()
        /// The time of the first bytes; nil before them.
        var began: Instant?
        var firstCount = 0
    }

    private let state = Mutex(State())

    /// The bytes that a packet carries over Ethernet.
    private static let packetSize = 1_460

    /// Adds bytes of a part with a total number, if it is known.
    func take(_ piece: [UInt8], of length: Int64?) {
        let now = MonotonicClock.now()
        state.withLock { state in
            if state.began == nil { (state.began, state.firstCount) = (now, piece.count) }
            state.part.bytes += piece
            state.part.length = length
            state.part.span = now - (state.began ?? now)
        }
    }

    /// The progress now. `wait` is the time since which the part is awaited.
    func progress(since wait: Instant) -> PartProgress {
        let state = state.withLock { $0 }
        return PartProgress(
            received: Int64(state.part.bytes.count), length: state.part.length, awaited: wait,
            elapsed: MonotonicClock.now() - (state.began ?? wait))
    }

    /// The part so far. What came with the first packet arrived before the time that is measured. If the part came in one
    /// burst, the first bytes that were read are most of it.
    var transfer: PartTransfer {
        let state = state.withLock { $0 }
        var part = state.part
        let isBurst = state.firstCount * 2 > part.bytes.count
        part.measuredCount = Int64(max(0, part.bytes.count - (isBurst ? Self.packetSize : state.firstCount)))
        return part
    }
}
