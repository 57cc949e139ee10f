/// An `a=msid` value: the stream and track that a section's media belongs to (RFC 8830).
public struct MediaStreamIdentification: Hashable, Sendable {
    /// `-` when the track is in no stream.
    public var stream: String
    /// The track within the stream; nil when only the stream is named.
    public var track: String?

    public init(stream: String, track: String?) {
        self.stream = stream
        self.track = track
    }

    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard let stream = fields.first?.string else { return nil }
        self.init(stream: stream, track: fields.count > 1 ? fields[1].string : nil)
    }

    var text: String { track.map { "\(stream) \($0)" } ?? stream }
}
