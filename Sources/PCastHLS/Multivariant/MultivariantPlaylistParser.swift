/// Parses a multivariant playlist line by line.
struct MultivariantPlaylistParser {
    private var playlist = MultivariantPlaylist()
    private var variables: PlaylistVariables
    /// The number of the line that is being read, from 1, for error messages.
    private var line = 0
    /// The attributes of a variant whose URI line has not been read yet.
    private var pending: AttributeList?

    init(from uri: String) { variables = PlaylistVariables(uri: uri, importing: []) }

    /// Parses a whole playlist.
    ///
    /// - Parameter text: The playlist.
    /// - Returns: The playlist, which has at least one variant.
    /// - Throws: ``PlaylistError`` for the first line that cannot be read.
    mutating func parse(_ text: String) throws(PlaylistError) -> MultivariantPlaylist {
        var lines = try PlaylistLines(text)
        while let next = try lines.next() {
            line = lines.number
            switch next {
            case .uri(let uri): try finishVariant(uri)
            case .tag(let tag, let value):
                guard tag.allowedPlaylist != .media else { throw .mixedKinds(line: line) }
                if let pending { throw .variantWithoutURI(line: pending.line) }
                try read(tag, value)
            }
        }
        if let pending { throw .variantWithoutURI(line: pending.line) }
        guard !playlist.variants.isEmpty else { throw .missingTag(PlaylistTag.streamInformation.rawValue) }
        playlist.variables = variables.definitions
        return playlist
    }

    /// Parses an attribute list and replaces the variables in it.
    private mutating func attributes(_ tag: PlaylistTag, _ value: PlaylistText) throws(PlaylistError) -> AttributeList {
        var list = try AttributeList(value, of: tag, line: line)
        try list.replaceVariables(in: &variables)
        return list
    }

    /// Adds the variant that the URI line completes.
    private mutating func finishVariant(_ text: PlaylistText) throws(PlaylistError) {
        // A URI without EXT-X-STREAM-INF before it is ignored.
        guard let list = pending else { return }
        pending = nil
        let uri = try variables.uri(text, line: line)
        playlist.variants.append(try VariantStream(list, uri: uri))
        try PlaylistLimits.check(playlist.variants.count, .variants, line: line)
    }

    private mutating func read(_ tag: PlaylistTag, _ value: PlaylistText) throws(PlaylistError) {
        switch tag {
        case .version:
            guard let number = value.decimal() else { throw .malformedTag(tag.rawValue, line: line) }
            guard number <= PlaylistLimits.version else { throw .unsupportedVersion(Int(number)) }
            playlist.version = Int(number)
        case .independentSegments: playlist.hasIndependentSegments = true
        case .start: playlist.start = try StartPoint(try attributes(tag, value))
        case .define: try variables.define(try attributes(tag, value))
        case .streamInformation: pending = try attributes(tag, value)
        case .iFrameStreamInformation:
            let list = try attributes(tag, value)
            playlist.iFrameVariants.append(try VariantStream(list, uri: try list.required("URI")))
            try PlaylistLimits.check(playlist.iFrameVariants.count, .variants, line: line)
        case .media:
            if let rendition = try Rendition(try attributes(tag, value)) { playlist.renditions.append(rendition) }
            try PlaylistLimits.check(playlist.renditions.count, .renditions, line: line)
        case .sessionData:
            playlist.sessionData.append(try SessionData(try attributes(tag, value)))
            try PlaylistLimits.check(playlist.sessionData.count, .sessionData, line: line)
        case .sessionKey:
            if let key = try EncryptionKey(try attributes(tag, value)) { playlist.sessionKeys.append(key) }
            try PlaylistLimits.check(playlist.sessionKeys.count, .keys, line: line)
        case .contentSteering: playlist.contentSteering = try ContentSteering(try attributes(tag, value))
        default: break
        }
    }
}
