import PCastMedia

/// What a file or an address holds.
struct URIFormat {
    /// Of the picture as it is delivered, even numbers; nil without a picture.
    var dimensions: Dimensions?
    var frameRate: Double?

    /// 1 or 2; nil without sound.
    var channels: Int?
}
