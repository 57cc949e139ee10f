import PCastMedia

/// The viewer's side of a stream: its call, and what arrives by it.
final class RemoteMedia: Sendable {
    let streamID: StreamID
    let call: MediaCall
    let feed: ReceivedMediaFeed
    let life: StreamLife

    init(streamID: StreamID, call: MediaCall, feed: ReceivedMediaFeed, life: StreamLife) {
        self.streamID = streamID
        self.call = call
        self.feed = feed
        self.life = life
        life.whenEnded { _ in call.close() }
    }
}
