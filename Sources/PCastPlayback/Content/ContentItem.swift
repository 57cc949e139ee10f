public import PCastCore

/// One thing that is shown, heard or told at a position of an item.
public enum ContentItem: Sendable {
    /// For `duration`, as far as that is known.
    case picture(VideoFrame, at: TimeSpan, duration: TimeSpan?)
    /// 48 kHz, one or two channels.
    case sound(AudioFrame, at: TimeSpan)
    /// A line of text and until when it is shown; an empty one takes away what is shown.
    case subtitle(String, ClosedRange<TimeSpan>)
    /// What the media say of themselves at this moment: an ID3 tag, an event message, a date range.
    case metadata(TimedMetadata)
    /// Something of the overview has changed: a live window moved on, a duration was refined.
    case overview(ContentOverview)
}
