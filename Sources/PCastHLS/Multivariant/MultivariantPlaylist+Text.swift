extension MultivariantPlaylist {
    /// The playlist as text, which parses to an equal value if no value contains characters that a line or quoted
    /// string cannot hold. Such characters are left out.
    package var text: String {
        var writer = PlaylistWriter()
        writer.tag(.version, String(version))
        for variable in variables { writer.write(variable) }
        writer.flag(.independentSegments, if: hasIndependentSegments)
        if let start { writer.tag(.start, start.attributes) }
        if let contentSteering { writer.tag(.contentSteering, contentSteering.attributes) }
        for data in sessionData { writer.tag(.sessionData, data.attributes) }
        for key in sessionKeys { writer.tag(.sessionKey, key.attributes) }
        for rendition in renditions { writer.tag(.media, rendition.attributes) }
        for variant in variants {
            writer.tag(.streamInformation, variant.attributes)
            writer.uri(variant.uri)
        }
        for variant in iFrameVariants {
            var attributes = variant.attributes
            attributes.quoted("URI", variant.uri)
            writer.tag(.iFrameStreamInformation, attributes)
        }
        return writer.text
    }
}
