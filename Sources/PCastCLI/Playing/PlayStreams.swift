import PCast
import PCastPlayback

/// Streams of platforms for `pcast play`: by the token of their address, or by what a platform of this computer lets its user
/// do.
enum PlayStreams {
    @Sendable static func subscribe(_ source: Source) async throws(PlaybackError) -> MediaStream {
        guard let address = StreamAddress(source.address) else { throw .unsupportedAddress(source.name) }
        let plan = SubscribePlan(
            uri: address.platform, tokens: address.token.map { [$0] } ?? [], stream: address.stream, duration: nil,
            render: .null, screenshot: nil, recording: nil, isOnce: true)
        let place: SubscribePlace
        do {
            place = try await SubscribePlace.find(plan)
        } catch {
            throw .unreachable(address.name, reason: (error as? CommandFailure)?.sentence ?? "\(error)")
        }
        let found = StreamAddress(platform: place.uri ?? address.platform, stream: place.stream)
        return try await found.subscribe(
            authentication: place.tokens.authentication, viewing: place.tokens.stream)
    }
}
