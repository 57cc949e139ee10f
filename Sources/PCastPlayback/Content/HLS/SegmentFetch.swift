internal import PCastCodecs
internal import PCastCore
internal import PCastHLS
internal import PCastIO

/// The requests for one segment: as a whole, or part by part while it is produced. A request that failed resumes after
/// the bytes that arrived.
struct SegmentFetch {
    /// The result of a step.
    enum Progress {
        /// The segment is complete.
        case complete
        /// More parts are available.
        case more
        /// The next part is not available yet.
        case waiting
    }

    /// A function that receives the number of bytes, the duration, and the kind of a transfer.
    typealias Measure = @Sendable (Int64, TimeSpan, ThroughputEstimate.Transfer) -> Void
    /// A function that receives the progress of a part and its duration.
    typealias PartWatch = @Sendable (PartProgress, TimeSpan) -> Void

    /// The segment in the current playlist.
    var segment: MediaSegment
    private let base: URIReference
    private let fetcher: HLSFetcher
    private let number: Int64
    /// The number of parts that were loaded or skipped.
    private var parts: Int
    private let firstPart: Int
    private var received: Int64 = 0
    /// Whether media is absent at the end of what was loaded so far.
    private(set) var endsInGap = false
    /// The duration of the parts that were loaded; nil if the whole segment was requested.
    private(set) var loadedDuration: TimeSpan? = .zero
    /// The decryption of the whole segment, and of parts that are ranges of it.
    private var decryption: SegmentDecryption?
    /// Whether `decryption` has received bytes.
    private var isDecrypting = false
    /// The number of plain bytes from parts that are encrypted by themselves.
    private var partBytes = 0
    private var isPrepared = false

    /// Creates the requests of a segment, from a part on while the playlist lists its parts.
    init(_ segment: MediaSegment, from firstPart: Int = 0, base: URIReference, fetcher: HLSFetcher) {
        (self.segment, self.base, self.fetcher, number) = (segment, base, fetcher, segment.number)
        (parts, self.firstPart) = (firstPart, firstPart)
    }

    /// Returns an absolute address.
    private func resolved(_ uri: String) -> String { base.address(of: uri) }

    /// Loads the media initialization section; empty if there is none.
    func initialization() async throws(LoadFailure) -> [UInt8] {
        guard let map = segment.initialization else { return [] }
        return try await fetcher.initialization(map, of: number, base: base)
    }

    /// Returns the decryption of the segment's samples; nil if they are not encrypted. Throws a ``LoadFailure``.
    func sampleDecryption() async throws(LoadFailure) -> SampleDecryption? {
        try await fetcher.sampleDecryption(segment.keys, of: number, base: base)
    }

    /// Loads the next part or the whole segment. `arrived` receives the size of each piece of a whole segment, and the
    /// total size if the server reports it. `watch` receives the progress of a part. Throws a ``LoadFailure``.
    mutating func next(
        into bytes: SegmentBytes, hints: PartHints, arrived: @escaping @Sendable (Int, Int64?) -> Void,
        watch: @escaping PartWatch, measure: @escaping Measure
    ) async throws(LoadFailure) -> Progress {
        if !isPrepared {
            decryption = try await fetcher.decryption(segment.keys, of: number, base: base)
            isPrepared = true
        }
        // A segment that was begun by its parts may turn out to be a gap, which must not be requested.
        if segment.isGap {
            endsInGap = true
            return try finish(bytes)
        }
        if let uri = segment.uri, parts == 0 || segment.parts.isEmpty {
            loadedDuration = nil
            try await whole(uri, into: bytes, arrived, measure)
            endsInGap = false
            return try finish(bytes)
        }
        guard parts < segment.parts.count else {
            return segment.uri == nil ? .waiting : try finish(bytes)
        }
        guard received <= HLSFetcher.segmentLimit else {
            throw LoadFailure(
                failure: .unreadable(.tooLarge), reason: "its parts are larger than the maximum segment size")
        }
        let part = segment.parts[parts]
        if !part.isGap { try await take(part, into: bytes, hints, watch, measure) }
        endsInGap = part.isGap
        loadedDuration = loadedDuration.map { $0 + part.duration }
        parts += 1
        return .more
    }

    /// Loads the whole segment, or the rest of it.
    private mutating func whole(
        _ uri: String, into bytes: SegmentBytes, _ arrived: @escaping @Sendable (Int, Int64?) -> Void,
        _ measure: @escaping Measure
    ) async throws(LoadFailure) {
        let range = segment.byteRange
        // The bytes before the first part are loaded again, and the reader skips them.
        if firstPart > 0, parts > 0 { (parts, received, partBytes) = (0, 0, 0) }
        // The encrypted parts are no bytes of the encrypted segment, so these are loaded again.
        if partBytes > 0, !isDecrypting { received = 0 }
        let tally = TransferCounter(decryption: decryption, skipping: partBytes)
        let began = MonotonicClock.now()
        isDecrypting = true
        defer {
            received += tally.count
            partBytes = tally.skipping
        }
        var request: (offset: Int64, length: Int64?)?
        if let range { request = (range.offset + received, range.length - received) }
        if range == nil, received > 0 { request = (received, nil) }
        if let length = request?.length, length <= 0 { return }
        do throws(LoadFailure) {
            try await fetcher.stream(resolved(uri), range: request, limit: HLSFetcher.segmentLimit) { piece, length in
                bytes.append(tally.take(piece))
                arrived(piece.count, length)
            }
        } catch {
            // All bytes were loaded with the parts, and only gaps followed (RFC 9110, section 15.5.17).
            guard case .status(416, _) = error.failure, received > 0 else { throw error }
        }
        measure(tally.count, MonotonicClock.now() - began, .segment)
    }

    /// Loads a part.
    private mutating func take(
        _ part: PartialSegment, into bytes: SegmentBytes, _ hints: PartHints, _ watch: @escaping PartWatch,
        _ measure: Measure
    ) async throws(LoadFailure) {
        let uri = resolved(part.uri)
        let progress: @Sendable (PartProgress) -> Void = { watch($0, part.duration) }
        var transfer: PartTransfer?
        var isPaced = false
        if let hinted = hints.take(uri, from: part.byteRange?.offset ?? 0),
            case .success(let announced) = await hinted.result(limitsResponse: true, progress: progress),
            part.byteRange.map({ $0.length == Int64(announced.bytes.count) }) ?? true
        {
            // A server that sends a part while it is created does not know its length.
            (transfer, isPaced) = (announced, announced.length == nil)
        }
        if transfer == nil {
            let range = part.byteRange.map { (offset: $0.offset, length: Int64?.some($0.length)) }
            transfer = try await PartRequest(uri, range, by: fetcher)
                .result(limitsResponse: false, progress: progress).get()
        }
        guard let transfer else { return }
        measure(transfer.measuredCount, transfer.span, .part(duration: part.duration, isPaced: isPaced))
        let whole = transfer.bytes
        received += Int64(whole.count)
        guard decryption != nil else { return bytes.append(whole) }
        if part.byteRange != nil {
            isDecrypting = true
            return bytes.append(decryption?.update(whole) ?? [])
        }
        // Cipher block chaining begins again with each part that is a resource of its own. The key is cached.
        guard let own = try await fetcher.decryption(segment.keys, of: number, base: base) else { return }
        let first = own.update(whole)
        guard let last = own.finish() else { throw Self.undecipherable }
        partBytes += first.count + last.count
        bytes.append(first + last)
    }

    /// Ends the decryption.
    private func finish(_ bytes: SegmentBytes) throws(LoadFailure) -> Progress {
        if let decryption, isDecrypting {
            guard let rest = decryption.finish() else { throw Self.undecipherable }
            bytes.append(Array(rest.dropFirst(partBytes)))
        }
        return .complete
    }

    private static var undecipherable: LoadFailure {
        LoadFailure(
            failure: .unreachable, reason: "a segment is not encrypted as its playlist states", isUndecipherable: true)
    }

    /// The bytes of a transfer, for one task at a time.
    private final class TransferCounter: @unchecked Sendable {
        private let decryption: SegmentDecryption?
        private(set) var count: Int64 = 0
        /// The number of plain bytes that are still left out.
        private(set) var skipping: Int

        init(decryption: SegmentDecryption?, skipping: Int) {
            (self.decryption, self.skipping) = (decryption, skipping)
        }

        func take(_ piece: [UInt8]) -> [UInt8] {
            count += Int64(piece.count)
            let plain = decryption?.update(piece) ?? piece
            guard skipping > 0 else { return plain }
            let skipped = min(skipping, plain.count)
            skipping -= skipped
            return Array(plain.dropFirst(skipped))
        }
    }
}
