package import PCastCore

/// The decoded media of one item, which is opened once and then read in decoding order.
///
/// The pipeline's reader calls everything except ``interrupt()``, ``overview`` and ``bufferedPosition`` from one thread
/// at a time. These calls may block for a disk, a server or a publisher. Media that is read ahead stays encoded and
/// bounded, and only what is read is decoded.
///
/// Positions begin at zero. For live media with a sliding window, a position stays valid while the content is open.
package protocol PlaybackContent: AnyObject, Sendable {
    /// The properties of the media; nil before it is open. It may be read from any thread.
    var overview: ContentOverview? { get }

    /// The end of the media that is loaded without gaps; nil if unknown. It may be read from any thread.
    var bufferedPosition: TimeSpan? { get }

    /// Opens the content, and returns the position at which playback begins. For live media this is near the live edge.
    /// Throws a ``PlaybackError`` if the content cannot be opened.
    func open() throws(PlaybackError) -> TimeSpan

    /// Returns the next item, and blocks until it is available. Returns nil at the end, until a seek. Throws
    /// ``PlaybackError/interrupted`` after `interrupt()`; any other error ends the item.
    func read() throws(PlaybackError) -> ContentItem?

    /// Seeks, and returns the position that was reached, which is within the seekable range. The next frame is at the
    /// position, or just after it if no frame begins there. Throws ``PlaybackError/notSeekable`` if the content is not
    /// seekable.
    func seek(to position: TimeSpan) throws(PlaybackError) -> TimeSpan

    /// Selects a track of a kind, or none if `track` is nil. Throws ``PlaybackError/noTrack(_:)`` if there is no such
    /// track.
    func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) throws(PlaybackError)

    /// Ends the current call, or the next one, with the error `interrupted`. Later calls are not affected. It may be
    /// called from any thread.
    func interrupt()

    /// Closes the content and ends all transfers. It has no effect if it was called before.
    func close()
}

extension PlaybackContent {
    /// Nil: the end of the loaded media is unknown.
    package var bufferedPosition: TimeSpan? { nil }
}

/// A factory for the content of an address.
package enum MediaContent {
    /// Returns content that is not open yet. A path or an address is HTTP Live Streaming if it ends in `.m3u8`, and a web
    /// address also if the server's response is a playlist. Any other address is a file. `isPlaylist` overrides the detection if it is not
    /// nil.
    package static func content(
        at address: String, isPlaylist: Bool? = nil, configuration: HLSContent.Configuration = .init()
    ) -> any PlaybackContent {
        let named = ContentAddress(address)
        if isPlaylist ?? (named.isPlaylist && named.kind != nil) {
            return HLSContent(address, configuration: configuration)
        }
        if isPlaylist == nil, named.kind == .web, !named.isFile {
            return WebContent(named, configuration: configuration)
        }
        return FileContent(address, timeout: configuration.timeout)
    }
}
