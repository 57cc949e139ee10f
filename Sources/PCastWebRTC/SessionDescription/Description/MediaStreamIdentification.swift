/// An `a=msid` value: the media stream and track of a section (RFC 8830).
public struct MediaStreamIdentification: Hashable, Sendable {
    /// The ID of the media stream; `-` if the track belongs to none.
    public var stream: String
    /// The ID of the track; nil if it is not specified.
    public var track: String?

    /// Creates a value from the IDs of stream and track.
    public init(stream: String, track: String?) {
        self.stream = stream
        self.track = track
    }

    /// Parses the value of the attribute. Returns nil if it is malformed.
    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard let stream = fields.first?.string else { return nil }
        self.init(stream: stream, track: fields.count > 1 ? fields[1].string : nil)
    }

    /// The value of the attribute.
    var text: String { track.map { "\(stream) \($0)" } ?? stream }
}
