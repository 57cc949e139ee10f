import Hummingbird
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO

/// The requests that issue tokens to backends without an EdgeAuth library.
extension ManagementAPI {
    /// The default lifetime in seconds, which is that of the EdgeAuth libraries, and the maximum.
    private static let lifetime: Int64 = 3_600
    private static let longestLifetime: Int64 = 31 * 86_400
    private static let capabilityLimit = 64

    private struct AuthenticationTokenRequest: Decodable {
        let capabilities: [String]?
        /// The lifetime in seconds.
        let expiresIn: Int64?
    }

    private struct AuthenticationToken: Encodable {
        let status = "ok"
        let authenticationToken: String
    }

    func issueAuthenticationToken(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let body = try request.decoded(AuthenticationTokenRequest.self)
        let token = try make(request, body.capabilities, body.expiresIn) { $0.forAuthenticationOnly() }
        return ApplicationAnswer.json(AuthenticationToken(authenticationToken: token))
    }

    private struct StreamTokenRequest: Decodable {
        let sessionId: String?
        let originStreamId: String?
        let alternateOriginStreamIds: [String]?
        let capabilities: [String]?
        /// The lifetime in seconds.
        let expiresIn: Int64?
    }

    private struct StreamToken: Encodable {
        let status = "ok"
        let streamToken: String
    }

    /// Issues a token. With an origin, it is for subscribing to that stream, or to the first alternative that is live.
    /// Without one, it is for publishing.
    ///
    /// - Throws: ``ApplicationFailure``.
    func issueStreamToken(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let body = try request.decoded(StreamTokenRequest.self)
        let named = (body.originStreamId.map { [$0] } ?? []) + (body.alternateOriginStreamIds ?? [])
        let origin = named.isEmpty ? nil : try await playing(named.map { StreamID($0) }, of: request.application)
        let token = try make(request, body.capabilities, body.expiresIn) { builder in
            var builder = builder
            // An asterisk means all sessions, as in Phenix's API.
            if let session = body.sessionId, session != "*" { builder = builder.forSession(session) }
            guard let origin else { return builder.forPublishingOnly() }
            return builder.forStreamingOnly().forOriginStream(origin.description)
        }
        return ApplicationAnswer.json(StreamToken(streamToken: token))
    }

    private func playing(
        _ named: [StreamID], of application: ApplicationID
    ) async throws(ApplicationFailure) -> StreamID {
        for id in named { if await directory.live(id, of: application) != nil { return id } }
        for id in named {
            let endedStream = try await query { () throws(RecordsError) in
                try await platformRecords.records.stream(id, of: application)
            }
            if endedStream != nil { throw ApplicationFailure(.gone, "origin-ended") }
        }
        throw ApplicationFailure(.notFound, "origin-not-found")
    }

    private struct RevocationRequest: Decodable {
        let token: String?
        /// The identifier of a JSON Web Token.
        let jti: String?
        /// The time in seconds until the token with the identifier expires.
        let expiresIn: Int64?

        private enum Key: CodingKey {
            case token, jti, expiresIn
        }

        /// Reads the keys that are present, whose values must not be null.
        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            token = values.contains(.token) ? try values.decode(String.self, forKey: .token) : nil
            jti = values.contains(.jti) ? try values.decode(String.self, forKey: .jti) : nil
            expiresIn = values.contains(.expiresIn) ? try values.decode(Int64.self, forKey: .expiresIn) : nil
        }
    }

    /// The maximum length of the identifier of a JSON Web Token, in characters.
    private static let longestIdentifier = 1_024

    /// Revokes a token of the application at all nodes of the cluster until it expires, and ends the sessions, streams and
    /// viewings that began with it. A JSON Web Token can be named by its identifier.
    ///
    /// - Throws: ``ApplicationFailure``.
    func revokeToken(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let (key, lifetime) = try await revocation(request)
        // An expired token is rejected in any case.
        guard lifetime > .zero else { return ApplicationAnswer.done }
        guard authenticator.revocations.revoke(key, for: lifetime) else {
            throw ApplicationFailure(
                .serviceUnavailable, "capacity", "Too many tokens are revoked: change the secret of the application.")
        }
        await directory.endAccess(by: key, sessions: sessions)
        let now = MonotonicClock.wallTime()
        try await query { () throws(RecordsError) in
            try await platformRecords.records.addTokenRevocation(key, until: now + lifetime, at: now)
        }
        return ApplicationAnswer.done
    }

    /// Returns the key of the requested revocation, and the time until the token expires.
    private func revocation(
        _ request: ApplicationRequest
    ) async throws(ApplicationFailure) -> (key: String, lifetime: TimeSpan) {
        let body = try request.decoded(RevocationRequest.self)
        let lifetime = body.expiresIn ?? Self.longestLifetime
        guard (1...Self.longestLifetime).contains(lifetime) else {
            throw .badRequest("The lifetime is invalid: send 1 to \(Self.longestLifetime) seconds as expiresIn.")
        }
        switch (body.token, body.jti) {
        case (let token?, nil):
            if let found = await authenticator.revocable(token, of: request.application) { return found }
            throw ApplicationFailure(
                .notFound, "token-not-found",
                "The token is not a token of the application, or a JSON Web Token without “jti”: send a valid one.")
        case (nil, let id?):
            guard (1...Self.longestIdentifier).contains(id.unicodeScalars.count) else {
                throw .badRequest("The identifier is invalid: send 1 to \(Self.longestIdentifier) characters as jti.")
            }
            // Tokens are accepted for a leeway after they have expired.
            return (
                TokenRevocations.key(ofJSONWebToken: id, request.application),
                .seconds(lifetime) + authenticator.leeway
            )
        default: throw .badRequest("The token is missing: send either token or jti.")
        }
    }

    private func make(
        _ request: ApplicationRequest, _ capabilities: [String]?, _ expiresIn: Int64?,
        _ restrict: (EdgeTokenBuilder) -> EdgeTokenBuilder
    ) throws(ApplicationFailure) -> String {
        let capabilities = capabilities ?? []
        guard capabilities.count <= Self.capabilityLimit,
            capabilities.allSatisfy({ (1...50).contains($0.unicodeScalars.count) })
        else {
            throw .badRequest(
                "The capabilities are invalid: send at most \(Self.capabilityLimit), each of 1 to 50 characters.")
        }
        let lifetime = expiresIn ?? Self.lifetime
        guard (1...Self.longestLifetime).contains(lifetime) else {
            throw .badRequest("The token's lifetime is invalid: send 1 to \(Self.longestLifetime) seconds.")
        }
        let token = authenticator.token(of: request.application) { builder in
            let begun = restrict(builder.expiresIn(.seconds(lifetime), from: MonotonicClock.wallTime()))
            return capabilities.reduce(begun) { $0.withCapability($1) }
        }
        guard let token else { throw .unauthorized }
        return token
    }
}
