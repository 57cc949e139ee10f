/// The steering server that chooses among pathways (`EXT-X-CONTENT-STEERING`; RFC 8216bis, section 4.4.6.6).
package struct ContentSteering: Hashable, Sendable {
    /// The URI of the steering manifest, relative to the playlist.
    package var serverURI: String
    /// The pathway to use until the first steering manifest arrives; nil if the playlist does not name one.
    package var pathwayID: String?

    /// Creates a value from the URI of the steering manifest and the initial pathway.
    package init(serverURI: String, pathwayID: String? = nil) {
        self.serverURI = serverURI
        self.pathwayID = pathwayID
    }

    /// Reads the tag.
    ///
    /// - Parameter list: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if `SERVER-URI` is missing.
    init(_ list: AttributeList) throws(PlaylistError) {
        serverURI = try list.required("SERVER-URI")
        pathwayID = list.string("PATHWAY-ID")
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("SERVER-URI", serverURI)
        writer.quoted("PATHWAY-ID", pathwayID)
        return writer
    }
}
