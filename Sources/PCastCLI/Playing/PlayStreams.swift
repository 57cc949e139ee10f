import PCast
import PCastPlayback

/// Subscribes to platform streams for `pcast play`, with the token of the address or the credentials of a platform on
/// this host.
enum PlayStreams {
    @Sendable static func subscribe(_ source: Source) async throws(PlaybackError) -> MediaStream {
        guard let address = StreamAddress(source.address) else { throw .unsupportedAddress(source.name) }
        let plan = SubscribePlan(
            uri: address.platform, tokens: address.token.map { [$0] } ?? [], stream: address.stream, duration: nil,
            render: .null, screenshot: nil, recording: nil, noReconnect: true)
        let target: SubscribeTarget
        do {
            target = try await SubscribeTarget.find(plan)
        } catch {
            throw refusal(of: address.name, error)
        }
        let found = StreamAddress(platform: target.uri ?? address.platform, stream: target.stream)
        return try await found.subscribe(
            authentication: target.tokens.authentication, viewing: target.tokens.stream)
    }

    /// Converts the error of a stream that could not be requested, so that the exit status is the same as that of
    /// `pcast subscribe`.
    static func refusal(of name: String, _ error: any Error) -> PlaybackError {
        guard let failure = error as? CommandFailure else {
            return .noStream(name, status: .failed, reason: "\(error)")
        }
        // `pcast play` has no option `--token`.
        if failure == .needsToken {
            return .noStream(
                name, status: .unauthorized, reason: "the platform requires a token: append #token=TOKEN to the URI")
        }
        let status: RequestStatus? =
            switch failure.status {
            case .platformUnreachable: nil
            case .notAuthorized: .unauthorized
            case .nothingToPlay: .noStreamPlaying
            case .unusableArguments: .badRequest
            default: .failed
            }
        let sentence = failure.sentence ?? "unknown reason"
        return .noStream(
            name, status: status, reason: sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence)
    }
}
