import PCastCore

/// The tracks of a file or an address.
struct URIFormat {
    /// The size of the delivered frames, even numbers; nil without video.
    var dimensions: Dimensions?
    var frameRate: Double?

    /// The number of channels, 1 or 2; nil without audio.
    var channels: Int?
}
