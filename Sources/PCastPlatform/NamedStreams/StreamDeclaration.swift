public import PCastCore

/// A declared stream: a name that viewers watch, and where its media come from.
///
/// Viewers of a name keep their session while its publishers and sources change (`docs/STREAMS.md`).
public struct StreamDeclaration: Hashable, Sendable {
    /// The media that fill the time without a source.
    public enum Fallback: Hashable, Sendable {
        /// A file, as a URI or a path, which is played in a loop.
        case file(String)
        /// Another declared stream.
        case stream(String)

        /// Creates a fallback from a text, which is the name of a declared stream or else a file. A text without a dot or
        /// slash cannot be a file.
        ///
        /// - Parameters:
        ///   - text: The text.
        ///   - isDeclared: Whether a stream with that name is declared.
        public init(_ text: String, isDeclared: Bool) {
            let isFile = text.isEmpty || text.contains { $0 == "/" || $0 == "." }
            self = isDeclared || !isFile ? .stream(text) : .file(text)
        }
    }

    /// The name, or a pattern with `*` for published names.
    public var name: String
    /// The application of the stream; nil for the platform's first one.
    public var application: ApplicationID?
    /// The URI of the source; nil if the stream is published.
    public var source: String?
    /// Whether the source is opened for the first viewer, and closed after the last one.
    public var isOnDemand = false
    /// The time from the last viewer's leave until the source is closed.
    public var closeAfter = defaultCloseAfter
    /// The media that fill the time without a source; nil for none.
    public var fallback: Fallback?
    /// The text of the slate, which is the last frame, dimmed, with this text. It fills the time without a publisher if there
    /// is no ``fallback``. Empty for no slate.
    public var slate = defaultSlate
    /// Whether further publishers stand by. Otherwise a new publisher replaces the former one.
    public var hasStandby = false
    /// Whether the first publisher is selected again when its media return.
    public var switchesBack = true
    /// The URIs that the stream is pushed to.
    public var forward: [String] = []
    /// Whether the stream is recorded.
    public var isRecorded = false
    /// The capabilities of the stream.
    public var capabilities: [String] = []

    /// The default of ``slate``.
    public static let defaultSlate = "The stream resumes soon"
    /// The maximum number of characters of ``slate``.
    public static let maximumSlateLength = 200
    /// The default of ``closeAfter``, 10 s.
    public static let defaultCloseAfter = Duration.seconds(10)
    /// The accepted values of ``closeAfter``.
    public static let closeAfterTimes = Duration.zero...Duration.seconds(86_400)
    /// The maximum number of declarations.
    public static let maximumCount = 10_000
    /// The maximum number of URIs that a stream is pushed to.
    public static let maximumForwardCount = 8
    /// The maximum size of a name in bytes.
    public static let maximumNameSize = 64

    /// The schemes of sources.
    public static let sourceSchemes = ["rtsp", "srt", "rtmp", "rtmps", "http", "https", "whep", "wheps", "file"]
    /// The schemes that streams are pushed to.
    public static let forwardSchemes = ["rtmp", "rtmps", "srt", "rtsp", "whip", "whips", "https", "http"]
    /// The prefixes of the platform's own identifiers.
    private static let reservedPrefixes = ["stream-", "view-", "egress-"]

    /// Creates a declaration of a stream that is published.
    public init(name: String) { self.name = name }

    /// Whether ``name`` is a pattern.
    public var isPattern: Bool { name.utf8.contains(UInt8(ascii: "*")) }

    /// Whether a slate fills the time without a publisher.
    var hasSlate: Bool { fallback == nil && !slate.isEmpty }

    /// The mistake in this declaration alone, as the key and a sentence without its subject; nil if there is none.
    public var mistake: (key: String, reason: String)? {
        if let reason = Self.nameMistake(name, isPattern: isPattern) { return ("name", reason) }
        if let source {
            if isPattern { return ("source", "is not available for a pattern: declare each name with its source") }
            if let reason = Self.mistake(in: source, schemes: Self.sourceSchemes) { return ("source", reason) }
        }
        if isOnDemand, source == nil { return ("onDemand", "needs a source: add “source”, or remove it") }
        if !Self.closeAfterTimes.contains(closeAfter) { return ("closeAfter", "must be 0s to 24h") }
        switch fallback {
        case .file(let text) where text.isEmpty: return ("fallback", "must be a file or the name of a stream")
        case .stream(let other) where other == name: return ("fallback", "is the stream itself: use another one")
        default: break
        }
        if slate.count > Self.maximumSlateLength {
            return ("slate", "has more than \(Self.maximumSlateLength) characters")
        }
        if let character = DrawableText.firstUndrawable(in: slate) {
            return (
                "slate",
                "contains “\(character.isNewline ? "line feed" : String(character))”, which cannot be drawn: use Latin letters, "
                    + "or an image as “fallback”"
            )
        }
        if forward.count > Self.maximumForwardCount {
            return ("forward", "has more than \(Self.maximumForwardCount) addresses")
        }
        for target in forward {
            if let reason = Self.mistake(in: target, schemes: Self.forwardSchemes) { return ("forward", reason) }
        }
        return nil
    }

    /// Returns why a text is not a name; nil if it is one.
    static func nameMistake(_ name: String, isPattern: Bool = false) -> String? {
        let isText = name.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): index > 0
            case UInt8(ascii: "*"): isPattern
            default: false
            }
        }
        guard isText, (1...maximumNameSize).contains(name.utf8.count) else {
            return "must have at most \(maximumNameSize) letters, digits, “-”, “_” or “.”, and no sign at first"
        }
        guard let prefix = reservedPrefixes.first(where: { name.hasPrefix($0) }) else { return nil }
        return "must not begin with “\(prefix)”, which the platform uses itself"
    }

    /// Returns why a URI is not accepted; nil if it is. It does not contain the URI, which may have a password.
    private static func mistake(in uri: String, schemes: [String]) -> String? {
        guard let end = uri.range(of: "://"), schemes.contains(uri[..<end.lowerBound].lowercased()),
            end.upperBound < uri.endIndex
        else {
            return "must be a URI with one of the schemes \(schemes.joined(separator: ", "))"
        }
        return nil
    }

    /// Returns whether the declaration applies to a name.
    func matches(_ name: String) -> Bool {
        guard isPattern else { return self.name == name }
        return Self.matches(Array(name.utf8)[...], Array(self.name.utf8)[...])
    }

    /// Returns whether a text matches a pattern in which `*` stands for any characters. The time is at most the product
    /// of their sizes.
    private static func matches(_ text: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
        var (index, position) = (text.startIndex, pattern.startIndex)
        var retry: (position: Int, index: Int)?
        while index < text.endIndex {
            if position < pattern.endIndex, pattern[position] == UInt8(ascii: "*") {
                position += 1
                retry = (position, index)
            } else if position < pattern.endIndex, pattern[position] == text[index] {
                position += 1
                index += 1
            } else if let former = retry {
                retry = (former.position, former.index + 1)
                (position, index) = (former.position, former.index + 1)
            } else {
                return false
            }
        }
        return pattern[position...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}

extension String {
    /// Returns the range of the first occurrence of an ASCII text.
    fileprivate func range(of text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}

/// The declared streams of a platform, which are checked together.
public struct StreamDeclarations: Hashable, Sendable {
    /// The declarations in their order. The first one that matches a published name applies.
    public private(set) var all: [StreamDeclaration] = []
    /// The positions of the declarations that are no patterns.
    private var positions: [String: Int] = [:]

    /// A mistake in declarations.
    public struct Mistake: Error, Hashable, Sendable {
        /// The name of the declaration.
        public let name: String
        /// The key of the declaration, such as `fallback`, or `name`.
        public let key: String
        /// A sentence without its subject.
        public let reason: String
    }

    /// Creates an empty list.
    public init() {}

    /// Creates a list.
    ///
    /// - Throws: ``Mistake`` for the first declaration that cannot be used.
    public init(_ declarations: [StreamDeclaration]) throws(Mistake) {
        guard declarations.count <= StreamDeclaration.maximumCount else {
            throw Mistake(
                name: declarations.last?.name ?? "", key: "name",
                reason: "is one of more than \(StreamDeclaration.maximumCount) declarations: remove some")
        }
        for declaration in declarations {
            if let (key, reason) = declaration.mistake {
                throw Mistake(name: declaration.name, key: key, reason: reason)
            }
            guard positions[declaration.name] == nil,
                !declaration.isPattern || !all.contains(where: { $0.name == declaration.name })
            else {
                throw Mistake(name: declaration.name, key: "name", reason: "is declared twice: remove one")
            }
            if !declaration.isPattern { positions[declaration.name] = all.count }
            all.append(declaration)
        }
        for declaration in all { try checkFallback(of: declaration) }
    }

    /// Follows the fallbacks of a stream, which must exist and not lead back to a stream before.
    private func checkFallback(of declaration: StreamDeclaration) throws(Mistake) {
        var path = [declaration.name]
        var current = declaration
        while case .stream(let next) = current.fallback {
            guard let declared = self[next] else {
                throw Mistake(
                    name: current.name, key: "fallback", reason: "names the stream “\(next)”, which is not declared")
            }
            guard !path.contains(next) else {
                throw Mistake(
                    name: declaration.name, key: "fallback",
                    reason: "leads back to itself: \((path + [next]).joined(separator: " → "))")
            }
            path.append(next)
            current = declared
        }
    }

    /// The declaration of a name without patterns; nil if there is none.
    public subscript(name: String) -> StreamDeclaration? { positions[name].map { all[$0] } }

    /// Returns the declaration that applies to a published name, with the name in place of a pattern; nil if there is
    /// none.
    func declaration(of name: String) -> StreamDeclaration? {
        if let declared = self[name] { return declared }
        guard StreamDeclaration.nameMistake(name) == nil, var found = all.first(where: { $0.matches(name) }) else {
            return nil
        }
        found.name = name
        return found
    }

    /// Returns the last stream in the chain of fallbacks of a name. Streams with the same one share a media thread, so
    /// that one can replace the other.
    func root(of name: String) -> String {
        var current = name
        while case .stream(let next) = declaration(of: current)?.fallback { current = next }
        return current
    }
}
