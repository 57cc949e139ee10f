internal import PCastCodecs
internal import PCastCore
internal import PCastHLS
internal import PCastIO
internal import PCastWeb
internal import Synchronization

/// A client for playlists, segments and keys.
final class HLSFetcher: Sendable {
    /// The maximum time without data of a segment.
    let timeout: Duration
    private let cookies = HTTPCookies()
    private let keys = Mutex<[String: [UInt8]]>([:])
    private let initializations = Mutex<[MediaInitialization: [UInt8]]>([:])

    /// The maximum size of a segment, and of a media initialization section, in bytes.
    static let segmentLimit: Int64 = 64 << 20
    static let initializationLimit: Int64 = 4 << 20
    /// The maximum size of a key in bytes.
    private static let keyLimit: Int64 = 1 << 10
    /// The maximum number of cached keys.
    private static let keyCount = 256
    /// The maximum number of cached media initialization sections.
    private static let initializationCount = 8

    /// Creates a client.
    init(timeout: Duration) { self.timeout = timeout }

    /// Loads a resource or a byte range of it. Returns the bytes and the address after redirects. Throws a
    /// ``LoadFailure``.
    func get(
        _ uri: String, range: ByteRange? = nil, limit: Int64, timeout: Duration? = nil
    ) async throws(LoadFailure) -> (bytes: [UInt8], uri: String) {
        let collected = Mutex<[UInt8]>([])
        let head = try await stream(uri, range: range.map { ($0.offset, $0.length) }, limit: limit, timeout: timeout) {
            bytes, _ in collected.withLock { $0 += bytes }
        }
        return (collected.withLock { $0 }, head)
    }

    /// Loads a resource or a byte range of it in pieces. `take` receives each piece, and the total number of bytes if
    /// the server reports it. Returns the address after redirects. Throws a ``LoadFailure``.
    @discardableResult
    func stream(
        _ uri: String, range: (offset: Int64, length: Int64?)?, limit: Int64, timeout: Duration? = nil,
        take: @escaping @Sendable ([UInt8], Int64?) async -> Void
    ) async throws(LoadFailure) -> String {
        let head: HTTPDownload.Head
        do throws(HTTPDownload.Failure) {
            head = try await HTTPDownload.get(
                uri, range: range, limit: limit, timeout: timeout ?? self.timeout, cookies: cookies
            ) {
                await take($1, range == nil || $0.status == 206 ? $0.length : range?.length)
                return true
            }
        } catch {
            throw LoadFailure(error, uri)
        }
        guard (200..<300).contains(head.status) else {
            let pause = head.retryAfter.map { TimeSpan.seconds(Int64(min(max($0, 0), 3_600))) }
            throw LoadFailure(
                failure: .status(head.status, retryAfter: pause),
                reason: "the server responded with status \(head.status)", uri: uri)
        }
        return head.uri
    }

    /// Loads the media initialization section of segments (`EXT-X-MAP`), decrypted.
    func initialization(
        _ map: MediaInitialization, of segment: Int64, base: URIReference
    ) async throws(LoadFailure) -> [UInt8] {
        var resolved = map
        resolved.uri = URIReference(map.uri).resolved(against: base).text
        if let known = initializations.withLock({ $0[resolved] }) { return known }
        var bytes = try await get(resolved.uri, range: map.byteRange, limit: Self.initializationLimit).bytes
        if let decryption = try await decryption(map.keys, of: segment, base: base) {
            bytes = decryption.update(bytes) + (decryption.finish() ?? [])
        }
        let (address, fetched) = (resolved, bytes)
        initializations.withLock { initializations in
            if initializations.count >= Self.initializationCount { initializations.removeAll() }
            initializations[address] = fetched
        }
        return bytes
    }

    /// Returns the decryption of a segment; nil if it is not encrypted. Throws a ``LoadFailure``, also if the method of
    /// encryption is not supported.
    func decryption(
        _ keys: [EncryptionKey], of segment: Int64, base: URIReference
    ) async throws(LoadFailure) -> SegmentDecryption? {
        guard !keys.isEmpty else { return nil }
        let usable = keys.filter { $0.method == .aes128 && $0.keyFormat == "identity" }
        var failure = LoadFailure(
            failure: .unreachable, reason: "its encryption method is not supported", isUndecipherable: true)
        // Several keys are alternatives.
        for key in usable {
            do throws(LoadFailure) {
                let bytes = try await self.key(URIReference(key.uri).resolved(against: base).text)
                return SegmentDecryption(key: bytes, vector: key.initializationVector(forSegment: segment))
            } catch { failure = error }
        }
        throw failure
    }

    /// Loads a key of AES-128.
    private func key(_ uri: String) async throws(LoadFailure) -> [UInt8] {
        if let known = keys.withLock({ $0[uri] }) { return known }
        let fetched = try await get(uri, limit: Self.keyLimit).bytes
        guard fetched.count == 16 else {
            throw LoadFailure(
                failure: .unreachable, reason: "its key is not an AES-128 key", isUndecipherable: true, uri: uri)
        }
        keys.withLock { keys in
            if keys.count >= Self.keyCount { keys.removeAll() }
            keys[uri] = fetched
        }
        return fetched
    }
}

extension LoadFailure {
    /// Creates a failure from that of a download of `uri`.
    init(_ failure: HTTPDownload.Failure, _ uri: String) {
        switch failure {
        case .timeout: self.init(failure: .timeout, reason: "no response arrived before the timeout")
        case .tooLarge: self.init(failure: .unreadable(.tooLarge), reason: "the response is too large")
        case .invalidURI: self.init(failure: .invalidURI, reason: "the address is invalid or has an unsupported scheme")
        case .redirections: self.init(failure: .unreachable, reason: "the server redirects in a loop")
        case .undecodable(let reason): self.init(failure: .invalidURI, reason: reason)
        case .unreachable(let reason): self.init(failure: .unreachable, reason: reason)
        case .cancelled: self.init(failure: .unreachable, reason: "cancelled")
        }
        self.uri = uri
    }
}
