import Logging
import PCastCore
import PCastIO
import Synchronization

/// The state that the publishers in this process share, whatever their protocol: their authentication, the keys that are in use,
/// and the transcoder of their audio.
final class IngestService: Sendable {
    let directory: StreamDirectory
    let access: IngestAccess
    /// See `RTMPConfiguration.takesOver`.
    private let takesOver: Bool
    /// The program that transcodes AAC; nil for none.
    let transcoder: AudioTranscodingConfiguration?
    let logger: Logger
    /// The ports for publishers.
    let ports = Setting(IngestPorts())
    /// The publishers by the fingerprints of their keys.
    private let publishers = Mutex<[String: IngestPublisher]>([:])
    /// The number of keys that were revoked since the start.
    private let revocations = Atomic(0)

    init(directory: StreamDirectory, access: IngestAccess, configuration: RTMPConfiguration, logger: Logger) {
        self.directory = directory
        self.access = access
        takesOver = configuration.takesOver
        transcoder = configuration.transcoder
        self.logger = logger
    }

    /// Assigns a key to a publisher.
    ///
    /// - Returns: The publisher that had the key and must be ended; nil if there is none.
    /// - Throws: ``APIError`` with the kind `conflict` if another publisher uses the key.
    func assign(
        _ fingerprint: String, to publisher: IngestPublisher, at now: Instant
    ) throws(APIError) -> IngestPublisher? {
        try checkFree(fingerprint, at: now)
        return publishers.withLock { publishers in
            defer { publishers[fingerprint] = publisher }
            return publishers[fingerprint]
        }
    }

    /// Throws if another publisher uses a key and is not replaced.
    ///
    /// - Throws: ``APIError`` with the kind `conflict`.
    func checkFree(_ fingerprint: String, at now: Instant) throws(APIError) {
        let former = publishers.withLock { $0[fingerprint] }
        guard former == nil || takesOver || former?.isSilent(at: now) == true else { throw .keyInUse }
    }

    /// The number of keys that were revoked since the start. A publisher whose key was found before a revocation is
    /// rejected.
    var revocationCount: Int { revocations.load(ordering: .sequentiallyConsistent) }

    /// Ends the stream of a key that was revoked or replaced in the database. It returns when the stream has ended.
    func revoke(_ fingerprint: String) async {
        revocations.add(1, ordering: .sequentiallyConsistent)
        await publishers.withLock { $0[fingerprint] }?.end(because: "stream key revoked")
    }

    /// Releases the key of a publisher that has ended.
    func release(_ fingerprint: String, of publisher: IngestPublisher) {
        publishers.withLock { publishers in
            if publishers[fingerprint] === publisher { publishers[fingerprint] = nil }
        }
    }
}

/// The ports of a platform for publishers in this process; nil for those that are not open.
struct IngestPorts: Encodable, Hashable, Sendable {
    var rtmpPort: Int?
    var rtmpsPort: Int?
    var srtPort: Int?
}

extension APIError {
    static let keyInUse = APIError(
        .conflict, "Another publisher uses this stream key: stop it, or use another key.",
        detail: "another publisher uses the key")

    static let keyChanged = APIError(
        .conflict, "A stream key was changed at this moment: connect again.", detail: "a key was revoked meanwhile")
}
