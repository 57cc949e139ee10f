public import PCastCore

/// An item that content delivers: a frame, audio, or information at a position.
public enum ContentItem: Sendable {
    /// A video frame, with its duration if it is known.
    case frame(VideoFrame, at: TimeSpan, duration: TimeSpan?)
    /// Audio at 48 kHz with one or two channels.
    case audio(AudioFrame, at: TimeSpan)
    /// A subtitle and the range in which it is displayed. An empty text ends the current subtitle.
    case subtitle(String, ClosedRange<TimeSpan>)
    /// Metadata at a position: an ID3 tag, an event message or a date range.
    case metadata(TimedMetadata)
    /// A change of the properties, such as a live window that advanced or a corrected duration.
    case overview(ContentOverview)
}
