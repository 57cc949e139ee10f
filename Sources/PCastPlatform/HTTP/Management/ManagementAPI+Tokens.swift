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
        let token: String
    }

    /// Revokes a token of the application at all nodes of the cluster until it expires. Its sessions and streams stay.
    func revokeToken(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let token = try request.decoded(RevocationRequest.self).token
        guard let lifetime = authenticator.remainingLifetime(of: token, request.application),
            let fingerprint = DigestTokens.contentFingerprint(of: token)
        else {
            throw ApplicationFailure(
                .notFound, "token-not-found",
                "The token is not a token of the application: send a token that its secret has signed.")
        }
        // An expired token is rejected in any case.
        guard lifetime > .zero else { return ApplicationAnswer.done }
        guard authenticator.revocations.revoke(fingerprint, for: lifetime) else {
            throw ApplicationFailure(
                .serviceUnavailable, "capacity", "Too many tokens are revoked: change the secret of the application.")
        }
        return ApplicationAnswer.done
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
