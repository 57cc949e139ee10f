import HTTPTypes
import Hummingbird
import PCastCore
import PCastDatabase
import PCastIO

/// The requests for an application's stream keys, with which encoders publish by RTMP and SRT.
extension ManagementAPI {
    /// The maximum number of capabilities of a key.
    private static let capabilityCount = 64

    /// The limits of a key's streams; nil for none.
    private struct KeyLimits: Codable {
        /// Bits per second.
        let bitrate: Int64?
        let width: Int?
        let height: Int?
        let connections: Int?

        init?(_ limits: StreamKeyLimits) {
            guard limits != StreamKeyLimits() else { return nil }
            bitrate = limits.bitrate?.bitsPerSecond
            (width, height, connections) = (limits.width, limits.height, limits.connections)
        }

        /// The limits; nil if one is out of range.
        var limits: StreamKeyLimits? {
            guard (64_000...1_000_000_000).contains(bitrate ?? 64_000), (16...16_384).contains(width ?? 16),
                (16...16_384).contains(height ?? 16), (1...100).contains(connections ?? 1)
            else { return nil }
            return StreamKeyLimits(
                bitrate: bitrate.map { Bitrate(bitsPerSecond: $0) }, width: width, height: height,
                connections: connections)
        }
    }

    private struct KeyRequest: Decodable {
        let tags: [String]?
        let capabilities: [String]?
        let limits: KeyLimits?
    }

    private struct KeyDescription: Encodable {
        let name: String
        /// The key that the encoder sends; nil in lists.
        let streamKey: String?
        let tags: [String]
        let capabilities: [String]
        /// Nil if there are none.
        let limits: KeyLimits?
        /// The time in milliseconds since 1970 (UTC).
        let created: Int64
        let rotated: Int64?

        init(_ key: StreamKeyRecord, showsSecret: Bool) {
            name = key.name
            streamKey = showsSecret ? key.secret : nil
            tags = key.tags
            capabilities = key.capabilities
            limits = KeyLimits(key.limits)
            created = key.created.millisecondsSinceEpoch
            rotated = key.rotated?.millisecondsSinceEpoch
        }
    }

    private struct KeyList: Encodable {
        let status = "ok"
        let keys: [KeyDescription]
        /// The ports for encoders.
        let ingest: IngestPorts
    }

    private struct OneKey: Encodable {
        let status = "ok"
        let key: KeyDescription

        init(_ key: StreamKeyRecord) { self.key = KeyDescription(key, showsSecret: true) }
    }

    /// Returns the application's keys without their secrets, ordered by name.
    ///
    /// - Throws: ``ApplicationFailure``.
    func listKeys(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let keys = try await query { () throws(RecordsError) in
            try await platformRecords.records.streamKeys(of: request.application)
        }
        return ApplicationAnswer.json(
            KeyList(keys: keys.map { KeyDescription($0, showsSecret: false) }, ingest: ingest.ports.value))
    }

    /// Returns one key with its secret.
    ///
    /// - Throws: ``ApplicationFailure``.
    func inspectKey(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let name = try Self.keyName(request)
        let key = try await query { () throws(RecordsError) in
            try await platformRecords.records.streamKey(name, of: request.application)
        }
        guard let key else { throw .notFound }
        return ApplicationAnswer.json(OneKey(key))
    }

    /// Creates a key, or changes the tags, capabilities and limits of an existing one for its next streams.
    ///
    /// - Throws: ``ApplicationFailure``.
    func setKey(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let name = try Self.keyName(request)
        let body = try request.decoded(KeyRequest.self)
        let (tags, capabilities) = (body.tags ?? [], body.capabilities ?? [])
        do throws(APIError) {
            try ClientTextLimits.check(tags: tags)
        } catch {
            throw .badRequest(error.message)
        }
        // A key stands for a token, whose size is limited.
        guard capabilities.count <= Self.capabilityCount,
            capabilities.allSatisfy({ (1...50).contains($0.unicodeScalars.count) }),
            StreamKeyPrincipal.token(
                of: request.application, tags: tags, capabilities: capabilities, by: authenticator) != nil
        else {
            throw .badRequest(
                "The tags and capabilities are too large: send at most \(Self.capabilityCount) capabilities, each of 1 "
                    + "to 50 characters, and fewer tags.")
        }
        guard let limits = body.limits.map(\.limits) ?? StreamKeyLimits() else {
            throw .badRequest(
                "A limit is out of range: use 64000 to 1000000000 bit/s, 16 to 16384 pixels, and 1 to 100 connections.")
        }
        let key = try await query { () throws(RecordsError) in
            try await platformRecords.records.setStreamKey(
                name, of: request.application, tags: tags, capabilities: capabilities, limits: limits,
                at: MonotonicClock.wallTime())
        }
        guard let key else {
            throw ApplicationFailure(
                .conflict, "conflict",
                "The application has \(Records.streamKeyLimit) keys, which is the maximum: revoke one first.")
        }
        await ingest.access.keysChanged()
        return ApplicationAnswer.json(OneKey(key))
    }

    /// Replaces the secret of a key. A stream that is published with the former one ends.
    ///
    /// - Throws: ``ApplicationFailure``.
    func rotateKey(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let name = try Self.keyName(request)
        let key = try await query { () throws(RecordsError) in
            try await platformRecords.records.rotateStreamKey(
                name, of: request.application, at: MonotonicClock.wallTime())
        }
        guard let key else { throw .notFound }
        await ingest.access.keysChanged()
        await ingest.revoke(StreamKeyPrincipal.fingerprint(of: name, request.application))
        return ApplicationAnswer.json(OneKey(key))
    }

    /// Revokes a key. A stream that is published with it ends.
    ///
    /// - Throws: ``ApplicationFailure``.
    func revokeKey(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let name = try Self.keyName(request)
        let existed = try await query { () throws(RecordsError) in
            try await platformRecords.records.revokeStreamKey(name, of: request.application)
        }
        guard existed else { throw .notFound }
        await ingest.access.keysChanged()
        await ingest.revoke(StreamKeyPrincipal.fingerprint(of: name, request.application))
        return ApplicationAnswer.done
    }

    private static func keyName(_ request: ApplicationRequest) throws(ApplicationFailure) -> String {
        let name = try request.part("key")
        guard CallbackText.isName(name) else {
            throw .badRequest("The key's name is invalid: use 1 to 64 letters, digits, dashes and underscores.")
        }
        return name
    }
}
