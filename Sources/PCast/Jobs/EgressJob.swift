import PCastCore
import PCastRendering
import PCastWebRTC

/// A subscribed stream that is pushed to an address.
final class EgressJob: Sendable {
    private let media: RemoteMedia
    private let pusher: StreamPusher
    private let taking: Int

    /// Begins to push a stream. `changed` receives the states of the push. Throws an error if the stream is not
    /// subscribed, or if the push cannot be set up.
    init(
        of stream: MediaStream, to policy: OutboundPolicy, format: String,
        changed: @escaping @Sendable (StreamPusher.State) -> Void
    ) throws(PCastError) {
        guard case .remote(let media) = stream.origin else {
            throw PCastError(.badRequest, .usage, "only a subscribed stream can be pushed")
        }
        do {
            pusher = try StreamPusher(
                uri: policy.uri, name: policy.name, format: format, tracks: stream.codecs, changed: changed)
        } catch {
            throw PCastError(.failed, .media, "\(error)")
        }
        self.media = media
        taking = media.feed.add { [pusher] media in
            if case .frame(let frame, let arrival) = media { pusher.push(frame, arrivedAt: arrival) }
        }
        // The pusher waits for a key frame before it sends anything.
        media.call.requestKeyFrame()
    }

    /// Sends the frames that wait, and returns when they are sent.
    func stop() {
        media.feed.remove(taking)
        pusher.finish()
    }
}
