import PCast
import PCastCore
import PCastJSON

/// The stream to subscribe to, its platform and the tokens.
struct SubscribeTarget: Sendable {
    /// The URI of the platform; nil if the token contains it.
    let uri: String?
    let tokens: TokenPair
    /// The stream; nil for the one that the token contains, otherwise the newest permitted one.
    let stream: String?

    /// Finds the stream of a plan.
    ///
    /// - Throws: ``CommandFailure``, whose status is `nothingToPlay` if there is no stream.
    static func find(_ plan: SubscribePlan) async throws -> SubscribeTarget {
        if EndpointURI.isWHEP(plan.uri) {
            guard plan.stream == nil else {
                throw CommandFailure(
                    .unusableArguments, "--stream is for a platform: the URI of WHEP names the stream, so remove it.")
            }
            return SubscribeTarget(
                uri: plan.uri, tokens: TokenPair(authentication: "", stream: try EndpointURI.token(plan.tokens) ?? ""),
                stream: nil)
        }
        if !plan.tokens.isEmpty { return try named(plan) }
        let running = LocalCredentialsFile.running(in: .standard())
        if let uri = plan.uri, let local = running.first(where: { $0.isOf(uri: uri) }) {
            return try await local.target(stream: plan.stream)
        }
        if plan.uri != nil { return try named(plan) }
        guard !running.isEmpty else {
            throw CommandFailure(
                .nothingToPlay,
                "No platform with a generated application was found: start “pcast publish”, or give --uri and --token.")
        }
        for local in running {
            if let target = try await local.newest(stream: plan.stream) { return target }
        }
        throw nothingPlays
    }

    static let nothingPlays = CommandFailure(
        .nothingToPlay, "The platform on this host has no live stream: start “pcast publish --uri …” first.")

    private static func named(_ plan: SubscribePlan) throws -> SubscribeTarget {
        let uri = plan.uri ?? plan.tokens.lazy.compactMap { TokenPair.field("uri", of: $0) }.first
        guard let uri = uri ?? LocalCredentialsFile.running(in: .standard()).first?.uri else {
            throw CommandFailure(.unusableArguments, "The token contains no platform: give --uri.")
        }
        let isLocal = try PlatformURI.isOnThisComputer(uri)
        let stream = plan.stream ?? plan.tokens.lazy.compactMap { TokenPair.field("originStreamId", of: $0) }.first
        guard isLocal || !plan.tokens.isEmpty else { throw CommandFailure.needsToken }
        return SubscribeTarget(uri: uri, tokens: try TokenPair(plan.tokens, isLocal: isLocal), stream: stream)
    }
}

extension LocalCredentials {
    /// Returns the requested stream, or the newest one; nil if it does not exist.
    fileprivate func newest(stream: String?) async throws -> SubscribeTarget? {
        let streams: [PlatformAdministration.Stream]
        do {
            streams = try await PlatformAdministration(uri: uri, application: application).streams()
        } catch let failure as CommandFailure where failure.status == .platformUnreachable {
            return nil  // The platform is starting or stopping.
        }
        let selected = stream.map { id in streams.last { $0.streamId == id } } ?? streams.last
        guard let selected else { return nil }
        return try target(of: selected.streamId)
    }

    fileprivate func target(stream: String?) async throws -> SubscribeTarget {
        if let stream { return try target(of: stream) }
        guard let target = try await newest(stream: nil) else { throw SubscribeTarget.nothingPlays }
        return target
    }

    private func target(of stream: String) throws -> SubscribeTarget {
        let tokens = ApplicationTokens(application: application)
        return SubscribeTarget(
            uri: uri,
            tokens: TokenPair(
                authentication: try tokens.authentication(), stream: try tokens.viewing(stream: stream)),
            stream: stream)
    }
}

/// The options of `pcast subscribe`.
struct SubscribePlan: Sendable {
    var uri: String?
    var tokens: [String]
    var stream: String?
    var duration: TimeSpan?
    var render: RenderArgument
    /// The file for the last frame at the end, in PNG or JPEG format according to its extension; nil for none.
    var screenshot: String?
    var recording: String?
    /// Whether the run ends with its stream for any reason. It is always true for a recording.
    var noReconnect: Bool
    /// The time from capture at which frames of a stream by HLS are displayed; nil for the least.
    var playoutDelay: TimeSpan?
}
