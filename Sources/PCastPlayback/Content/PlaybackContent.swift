public import PCastCore

/// The media of one item: opened once, then read in the order of decoding, decoded.
///
/// Everything but ``interrupt()`` and ``overview`` is called by one thread at a time, the pipeline's reader, and may wait
/// there: for a disk, a server or a publisher. What is read ahead is kept coded and bounded; what is decoded is as little
/// as whoever reads asks for.
///
/// Positions are of the item, from zero; of live media with a sliding window they keep what they mean for as long as the
/// content is open.
public protocol PlaybackContent: AnyObject, Sendable {
    /// What is known of it: nil before it was opened. From any thread.
    var overview: ContentOverview? { get }

    /// The end of what was loaded without a hole from where it is read; nil where nobody knows. From any thread.
    var bufferedPosition: TimeSpan? { get }

    /// Finds out what there is, and stands at the position from which playback begins, which for live media is near their
    /// edge.
    ///
    /// - Returns: where it stands.
    func open() throws(PlaybackError) -> TimeSpan

    /// What comes next; waits for it. Nil at the end, and again on each call after it until a seek.
    ///
    /// - Throws: ``PlaybackError/interrupted`` after `interrupt`; anything else ends the item.
    func read() throws(PlaybackError) -> ContentItem?

    /// Goes elsewhere: what is read next lies at the position, or just behind it where no picture begins there.
    ///
    /// - Returns: where it stands: within the seekable range, whatever was asked for.
    func seek(to position: TimeSpan) throws(PlaybackError) -> TimeSpan

    /// Takes other tracks from here on; nil is none. One that there is not is refused.
    func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) throws(PlaybackError)

    /// Makes a call that waits, or the next one, end with `interrupted`; the call after it goes on as if nothing had been.
    /// From any thread.
    func interrupt()

    /// Lets go of everything, and ends what is on its way. Harmless when called again.
    func close()
}

extension PlaybackContent {
    public var bufferedPosition: TimeSpan? { nil }
}
