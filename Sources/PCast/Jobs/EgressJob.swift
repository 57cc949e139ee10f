import PCastCore
import PCastRendering
import PCastWebRTC

/// A subscribed stream on its way to an address.
final class EgressJob: Sendable {
    private let media: RemoteMedia
    private let pusher: StreamPusher
    private let taking: Int

    init(
        of stream: MediaStream, to place: OutboundPolicy, format: String,
        changed: @escaping @Sendable (StreamPusher.State) -> Void
    ) throws(PCastError) {
        guard case .remote(let media) = stream.origin else {
            throw PCastError(.badRequest, .usage, "only a subscribed stream can be pushed")
        }
        do {
            pusher = try StreamPusher(
                uri: place.uri, name: place.name, format: format, tracks: stream.codecs, changed: changed)
        } catch {
            throw PCastError(.failed, .media, "\(error)")
        }
        self.media = media
        taking = media.feed.add { [pusher] media in
            if case .frame(let frame, let arrival) = media { pusher.push(frame, arrivedAt: arrival) }
        }
        // A key frame to begin with; the pusher waits for it.
        media.call.requestKeyFrame()
    }

    /// Sends what waits, and waits for that.
    func stop() {
        media.feed.remove(taking)
        pusher.finish()
    }
}
