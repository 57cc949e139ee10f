internal import Foundation
internal import Glibc
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
    /// Whether files of this machine are read: only for a presentation that begins with one.
    private let readsFiles: Bool
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
    init(timeout: Duration, readsFiles: Bool = false) { (self.timeout, self.readsFiles) = (timeout, readsFiles) }

    /// Loads a resource or a byte range of it. Returns the bytes and the address after redirects. Throws a
    /// ``LoadFailure``.
    func get(
        _ uri: String, range: ByteRange? = nil, limit: Int64, timeout: Duration? = nil
    ) async throws(LoadFailure) -> (bytes: [UInt8], uri: String) {
        let response = try await getDated(uri, range: range, limit: limit, timeout: timeout)
        return (response.bytes, response.uri)
    }

    /// Loads a resource as `get` does. Returns also the time of the server at the response; nil if it states none.
    func getDated(
        _ uri: String, range: ByteRange? = nil, limit: Int64, timeout: Duration? = nil
    ) async throws(LoadFailure) -> (bytes: [UInt8], uri: String, date: WallTime?) {
        let collected = Mutex<[UInt8]>([])
        let head = try await exchange(
            uri, range: range.map { ($0.offset, $0.length) }, limit: limit, timeout: timeout
        ) { bytes, _ in collected.withLock { $0 += bytes } }
        return (collected.withLock { $0 }, head.uri, head.date)
    }

    /// Loads a resource or a byte range of it in pieces. `take` receives each piece, and the total number of bytes if
    /// the server reports it. Returns the address after redirects. Throws a ``LoadFailure``.
    @discardableResult
    func stream(
        _ uri: String, range: (offset: Int64, length: Int64?)?, limit: Int64, timeout: Duration? = nil,
        take: @escaping @Sendable ([UInt8], Int64?) async -> Void
    ) async throws(LoadFailure) -> String {
        try await exchange(uri, range: range, limit: limit, timeout: timeout, take: take).uri
    }

    /// Loads a resource as `stream` does. Returns the address after redirects, and the time of the server; nil if it
    /// states none.
    private func exchange(
        _ uri: String, range: (offset: Int64, length: Int64?)?, limit: Int64, timeout: Duration? = nil,
        take: @escaping @Sendable ([UInt8], Int64?) async -> Void
    ) async throws(LoadFailure) -> (uri: String, date: WallTime?) {
        if readsFiles, URIReference(uri).isFile {
            let bytes = try await LocalFile.read(uri, range, limit: limit)
            await take(bytes, Int64(bytes.count))
            return (uri, nil)
        }
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
        return (head.uri, head.date)
    }

    /// Loads the media initialization section of segments (`EXT-X-MAP`), decrypted.
    func initialization(
        _ map: MediaInitialization, of segment: Int64, base: URIReference
    ) async throws(LoadFailure) -> [UInt8] {
        var resolved = map
        resolved.uri = base.address(of: map.uri)
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

    /// Returns the decryption of a segment; nil if it is not encrypted as a whole. Throws a ``LoadFailure``, also if the
    /// method of encryption is not supported.
    func decryption(
        _ keys: [EncryptionKey], of segment: Int64, base: URIReference
    ) async throws(LoadFailure) -> SegmentDecryption? {
        guard !keys.isEmpty, !keys.contains(where: \.isForSamples) else { return nil }
        let usable = keys.filter { $0.method == .aes128 && $0.keyFormat == "identity" }
        let found = try await firstKey(usable, of: segment, base: base)
        return SegmentDecryption(key: found.key, vector: found.vector)
    }

    /// Returns the decryption of a segment's samples; nil if they are not encrypted. Throws a ``LoadFailure``.
    func sampleDecryption(
        _ keys: [EncryptionKey], of segment: Int64, base: URIReference
    ) async throws(LoadFailure) -> SampleDecryption? {
        let usable = keys.filter(\.isForSamples)
        guard !usable.isEmpty else { return nil }
        let found = try await firstKey(usable, of: segment, base: base)
        return SampleDecryption(key: found.key, vector: found.vector)
    }

    /// Loads the first of several keys that can be loaded, and returns it with its initialization vector. Throws a
    /// ``LoadFailure``, also if there is none.
    private func firstKey(
        _ usable: [EncryptionKey], of segment: Int64, base: URIReference
    ) async throws(LoadFailure) -> (key: [UInt8], vector: [UInt8]) {
        var failure = LoadFailure(
            failure: .unreachable, reason: "its encryption method is not supported", isUndecipherable: true)
        // Several keys are alternatives.
        for key in usable {
            do throws(LoadFailure) {
                let bytes = try await self.key(base.address(of: key.uri))
                return (bytes, key.initializationVector(forSegment: segment))
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

extension EncryptionKey {
    /// Whether it is a key of samples that can be loaded.
    fileprivate var isForSamples: Bool { method == .sampleAES && keyFormat == "identity" }
}

extension URIReference {
    /// Whether the scheme is that of files.
    var isFile: Bool { scheme?.lowercased() == "file" }

    /// Returns the absolute address of a reference in the resource at this address. A resource of a server must not
    /// refer to files of this machine, so the address of a file loses its scheme there and cannot be loaded.
    func address(of reference: String) -> String {
        var target = URIReference(reference).resolved(against: self)
        guard target.isFile, !isFile else { return target.text }
        target.scheme = nil
        // The rest may be the address of a file as well, as in `file:file:///a`.
        if target.authority == nil { target.path = "./" + target.path }
        return target.text
    }
}

/// Reads the resources of a presentation on this machine.
private enum LocalFile {
    /// Reads a regular file, or a byte range of it, on a thread of its own. Throws a ``LoadFailure``.
    static func read(
        _ uri: String, _ range: (offset: Int64, length: Int64?)?, limit: Int64
    ) async throws(LoadFailure) -> [UInt8] {
        let result: Result<[UInt8], LoadFailure> = await withCheckedContinuation { continuation in
            do throws(IOError) {
                _ = try WorkerThread(name: "read-segment") {
                    let result: Result<[UInt8], LoadFailure>
                    do throws(LoadFailure) { result = .success(try contents(uri, range, limit)) } catch {
                        result = .failure(error)
                    }
                    continuation.resume(returning: result)
                }
            } catch {
                continuation.resume(
                    returning: .failure(LoadFailure(failure: .unreachable, reason: error.description, uri: uri)))
            }
        }
        return try result.get()
    }

    /// Reads on the current thread.
    private static func contents(
        _ uri: String, _ range: (offset: Int64, length: Int64?)?, _ limit: Int64
    ) throws(LoadFailure) -> [UInt8] {
        let reference = URIReference(uri)
        guard ["", "localhost"].contains(reference.authority ?? ""), !reference.path.contains("%00") else {
            throw LoadFailure(failure: .invalidURI, reason: "the file is on another machine", uri: uri)
        }
        let path = reference.path.removingPercentEncoding ?? reference.path
        // Opening a device or a pipe can have effects, so the type is read before. The file may be replaced meanwhile, and
        // a pipe without a writer must not block.
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure(errno, uri) }
        try requireFile(status, uri)
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(errno, uri) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard fstat(descriptor, &status) == 0 else { throw failure(errno, uri) }
        try requireFile(status, uri)
        let size = Int64(status.st_size)
        let (offset, length) = (range?.offset ?? 0, range?.length ?? size - (range?.offset ?? 0))
        // An encoder may write the file at this moment.
        guard offset >= 0, length >= 0, offset <= size, length <= size - offset else {
            throw LoadFailure(failure: .unreachable, reason: "the file is shorter than its byte range", uri: uri)
        }
        guard length <= limit else {
            throw LoadFailure(failure: .unreadable(.tooLarge), reason: "the file is too large", uri: uri)
        }
        do {
            try file.seek(toOffset: UInt64(offset))
            return Array(try file.read(upToCount: Int(length)) ?? Data())
        } catch {
            throw LoadFailure(failure: .unreachable, reason: error.localizedDescription, uri: uri)
        }
    }

    /// Throws a failure if a status is not that of a regular file.
    private static func requireFile(_ status: stat, _ uri: String) throws(LoadFailure) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw LoadFailure(failure: .status(403, retryAfter: nil), reason: "it is not a file", uri: uri)
        }
    }

    /// Returns the failure of a system call. It is that of the status with which a server would respond.
    private static func failure(_ code: Int32, _ uri: String) -> LoadFailure {
        let failure: ReloadFailure =
            switch code {
            case ENOENT, ENOTDIR, ENAMETOOLONG: .status(404, retryAfter: nil)
            case EACCES, EPERM, ELOOP, ENXIO: .status(403, retryAfter: nil)
            default: .unreachable
            }
        return LoadFailure(failure: failure, reason: String(cString: strerror(code)), uri: uri)
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
