internal import PCastHLS

/// The media playlists of one rendition in its qualities, the least first; each at several addresses perhaps.
struct RenditionVariants: Sendable {
    var uris: [[String]]
    var variables: [PlaylistVariable]
    /// Of several qualities which to take; nil for one.
    var choice: VariantChoice?
}
