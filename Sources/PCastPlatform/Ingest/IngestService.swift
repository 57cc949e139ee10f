import Logging
import PCastCore
import PCastDatabase
import PCastIO
import Synchronization

/// The state that the publishers in this process share, whatever their protocol: their authentication, the keys that are in use,
/// and the transcoders of their audio.
final class IngestService: Sendable {
    let directory: StreamDirectory
    let access: IngestAccess
    /// See `RTMPConfiguration.takesOver`.
    private let takesOver: Bool
    /// See `RTMPConfiguration.replacementTime`.
    let replacementTime: TimeSpan
    /// The processes that transcode AAC; nil if the platform does not.
    let transcoding: AudioTranscodingPool?
    let logger: Logger
    /// The ports for publishers.
    let ports = Setting(IngestPorts())
    /// The publishers by the fingerprints of their keys, in the order in which they came. The limits of a key bound their
    /// number.
    private let publishers = Mutex<[String: [IngestPublisher]]>([:])
    /// The number of keys that were revoked since the start.
    private let revocations = Atomic(0)

    init(directory: StreamDirectory, access: IngestAccess, configuration: RTMPConfiguration, logger: Logger) {
        self.directory = directory
        self.access = access
        takesOver = configuration.takesOver
        replacementTime = TimeSpan(configuration.replacementTime)
        transcoding = configuration.transcoder.map { AudioTranscodingPool($0) }
        self.logger = logger
    }

    /// Assigns a key to a publisher.
    ///
    /// - Parameters:
    ///   - fingerprint: The fingerprint of the key.
    ///   - limit: The number of publishers that may use it at the same time.
    ///   - publisher: The publisher.
    ///   - now: The current time.
    /// - Returns: The publisher that had the key and must be ended; nil if there is none.
    /// - Throws: ``APIError`` with the kind `conflict` if other publishers use the key.
    func assign(
        _ fingerprint: String, limit: Int, to publisher: IngestPublisher, at now: Instant
    ) throws(APIError) -> IngestPublisher? {
        let result: Result<IngestPublisher?, APIError> = publishers.withLock { publishers in
            var users = publishers[fingerprint] ?? []
            do throws(APIError) {
                let former = try replaced(among: users, limit: limit, at: now)
                users.removeAll { $0 === former }
                publishers[fingerprint] = users + [publisher]
                return .success(former)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Throws if other publishers use a key and none is replaced.
    ///
    /// - Throws: ``APIError`` with the kind `conflict`.
    func checkFree(_ fingerprint: String, limit: Int, at now: Instant) throws(APIError) {
        _ = try replaced(among: publishers.withLock { $0[fingerprint] } ?? [], limit: limit, at: now)
    }

    /// Returns the publisher that another one replaces: a silent one, or else the first. Returns nil if there is a place.
    private func replaced(
        among users: [IngestPublisher], limit: Int, at now: Instant
    ) throws(APIError) -> IngestPublisher? {
        guard users.count >= limit else { return nil }
        if let silent = users.first(where: { $0.isSilent(at: now) }) { return silent }
        guard takesOver, let first = users.first else { throw .keyInUse }
        return first
    }

    /// The number of keys that were revoked since the start. A publisher whose key was found before a revocation is
    /// rejected.
    var revocationCount: Int { revocations.load(ordering: .sequentiallyConsistent) }

    /// Ends the stream of a key that was revoked or replaced in the database. It returns when the stream has ended.
    func revoke(_ fingerprint: String) async {
        revocations.add(1, ordering: .sequentiallyConsistent)
        for publisher in publishers.withLock({ $0[fingerprint] }) ?? [] {
            await publisher.end(because: "stream key revoked")
        }
    }

    /// Releases the key of a publisher that has ended.
    func release(_ fingerprint: String, of publisher: IngestPublisher) {
        publishers.withLock { publishers in
            publishers[fingerprint]?.removeAll { $0 === publisher }
            if publishers[fingerprint]?.isEmpty == true { publishers[fingerprint] = nil }
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

    /// The error of a publisher whose video is larger than its stream key permits.
    static func videoTooLarge(_ size: Dimensions, _ limits: StreamKeyLimits) -> APIError {
        APIError(
            .capacity,
            "The video has \(size.width) × \(size.height) pixels, and the stream key permits at most "
                + "\(maximum(limits)): send smaller video.")
    }

    /// The error of a publisher whose stream key limits the size of the video, and whose video states none that can be
    /// parsed.
    static func videoSizeUnknown(_ limits: StreamKeyLimits) -> APIError {
        APIError(
            .capacity,
            "The size of the video cannot be determined, and the stream key permits at most \(maximum(limits)): "
                + "send smaller video, or another profile or codec.")
    }

    private static func maximum(_ limits: StreamKeyLimits) -> String {
        [limits.width.map { "\($0) wide" }, limits.height.map { "\($0) high" }].compactMap(\.self)
            .joined(separator: " and ")
    }

    static let keyChanged = APIError(
        .conflict, "A stream key was changed at this moment: connect again.", detail: "a key was revoked meanwhile")
}
