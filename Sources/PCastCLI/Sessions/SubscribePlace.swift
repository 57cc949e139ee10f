import PCastJSON
import PCastMedia

/// Which stream is watched, where, and by what right.
struct SubscribePlace: Sendable {
    /// Nil where the token names the platform.
    let uri: String?
    let tokens: TokenPair
    /// Nil for the one that the token names, or else the newest that it allows.
    let stream: String?

    /// - Throws: `CommandFailure`, `nothingToPlay` where there is no stream.
    static func find(_ plan: SubscribePlan) async throws -> SubscribePlace {
        if !plan.tokens.isEmpty { return try named(plan) }
        let running = LocalCredentialsFile.running(in: .standard())
        if let uri = plan.uri, let local = running.first(where: { $0.isOf(uri: uri) }) {
            return try await local.place(stream: plan.stream)
        }
        if plan.uri != nil { return try named(plan) }
        guard !running.isEmpty else {
            throw CommandFailure(
                .nothingToPlay, "Nothing plays on this computer: start “pcast publish”, or give --uri and --token.")
        }
        for local in running {
            if let place = try await local.newest(stream: plan.stream) { return place }
        }
        throw nothingPlays
    }

    static let nothingPlays = CommandFailure(
        .nothingToPlay, "The platform on this computer plays nothing: start “pcast publish --uri …” first.")

    private static func named(_ plan: SubscribePlan) throws -> SubscribePlace {
        let uri = plan.uri ?? plan.tokens.lazy.compactMap { TokenPair.field("uri", of: $0) }.first
        guard let uri = uri ?? LocalCredentialsFile.running(in: .standard()).first?.uri else {
            throw CommandFailure(.unusableArguments, "The token names no platform: give --uri.")
        }
        let isLocal = try PlatformURI.isOnThisComputer(uri)
        let stream = plan.stream ?? plan.tokens.lazy.compactMap { TokenPair.field("originStreamId", of: $0) }.first
        guard isLocal || !plan.tokens.isEmpty else { throw CommandFailure.needsToken }
        return SubscribePlace(uri: uri, tokens: try TokenPair(plan.tokens, isLocal: isLocal), stream: stream)
    }
}

extension LocalCredentials {
    /// The stream that was asked for, or the newest; nil when nothing plays there.
    fileprivate func newest(stream: String?) async throws -> SubscribePlace? {
        let streams: [PlatformAdministration.Stream]
        do {
            streams = try await PlatformAdministration(uri: uri, application: application).streams()
        } catch let failure as CommandFailure where failure.status == .platformUnreachable {
            return nil  // It is just starting or ending.
        }
        let wanted = stream.map { id in streams.last { $0.streamId == id } } ?? streams.last
        guard let wanted else { return nil }
        return try place(of: wanted.streamId)
    }

    fileprivate func place(stream: String?) async throws -> SubscribePlace {
        if let stream { return try place(of: stream) }
        guard let place = try await newest(stream: nil) else { throw SubscribePlace.nothingPlays }
        return place
    }

    private func place(of stream: String) throws -> SubscribePlace {
        let tokens = ApplicationTokens(application: application)
        return SubscribePlace(
            uri: uri,
            tokens: TokenPair(
                authentication: try tokens.authentication(), stream: try tokens.viewing(stream: stream)),
            stream: stream)
    }
}
