import Foundation

/// The file of defaults: `[serve]`, `[publish]` and `[subscribe]`, and under each `option = value` a line, the options
/// named as on the command line without their dashes. Lines that begin with `#` are remarks; an option that may be
/// repeated stands once for each value. At most 64 KiB.
struct ConfigurationFile: Equatable {
    static let maximumSize = 64 * 1024

    /// The options of each command.
    static let options: [String: Set<String>] = [
        "serve": [
            "listen", "rtc-port", "shards", "advertise", "stun", "data", "application", "tls-port", "tls-certificate",
            "tls-key", "tls-name", "data-key", "retention", "callback-network", "session-absence", "return-time",
            "uri-network",
            "uri-ports", "uri-directory", "uri-workers", "limit", "trusted-proxy", "proxy-field", "metrics-token",
            "frame-ancestor", "drain-time",
            "log-level",
        ],
        "publish": [
            "uri", "token", "video", "audio", "tag", "for", "listen", "codec", "encoder", "bitrate",
            "size", "fps", "video-constraint", "audio-constraint", "reencode", "on-demand", "layers", "take-over",
            "preview", "once",
        ],
        "subscribe": ["uri", "token", "stream", "for", "render", "screenshot", "record", "once"],
    ]

    /// Values by `command.option`, in the order of the lines.
    private(set) var values: [String: [String]] = [:]

    init() {}

    /// - Throws: `CommandFailure` that names the line which cannot be used.
    init(text: String, path: String) throws(CommandFailure) {
        var command: String?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            func refusal(_ what: String) -> CommandFailure {
                CommandFailure(.unusableArguments, "\(path), line \(index + 1): \(what).")
            }
            if line.hasPrefix("["), line.hasSuffix("]") {
                let name = String(line.dropFirst().dropLast())
                guard Self.options[name] != nil else {
                    let nearest = NearestName.suggestion(name, among: Self.options.keys) { "[\($0)]" }
                    throw refusal("there is no section [\(name)]\(nearest)")
                }
                command = name
                continue
            }
            guard let command else { throw refusal("a section like [serve] comes first") }
            guard let equals = line.firstIndex(of: "=") else { throw refusal("expected “option = value”") }
            let name = line[..<equals].trimmingCharacters(in: .whitespaces)
            let value = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            guard let known = Self.options[command], known.contains(name) else {
                let nearest = NearestName.suggestion(name, among: Self.options[command] ?? [])
                throw refusal("“pcast \(command)” has no option “\(name)”\(nearest)")
            }
            values["\(command).\(name)", default: []].append(value)
        }
    }

    /// Reads the file that was named, or the person's own where there is one.
    static func load(named path: String?, environment: [String: String]) throws(CommandFailure) -> ConfigurationFile {
        if let named = path ?? environment["PCAST_CONFIG"] {
            guard let file = try read(named) else {
                throw CommandFailure(.unusableArguments, "The configuration file \(named) cannot be read.")
            }
            return file
        }
        guard let own = self.path(named: nil, environment: environment), let file = try read(own) else {
            return ConfigurationFile()
        }
        return file
    }

    /// Where the file is, or would be; nil for a person without a home.
    static func path(named path: String?, environment: [String: String]) -> String? {
        if let named = path ?? environment["PCAST_CONFIG"] { return named }
        let home = environment["XDG_CONFIG_HOME"] ?? environment["HOME"].map { "\($0)/.config" }
        return home.map { "\($0)/pcast/pcast.conf" }
    }

    private static func read(_ path: String) throws(CommandFailure) -> ConfigurationFile? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: maximumSize + 1) else { return nil }
        guard data.count <= maximumSize, let text = String(data: data, encoding: .utf8) else {
            throw CommandFailure(.unusableArguments, "\(path) is larger than 64 KiB or no text in UTF-8.")
        }
        return try ConfigurationFile(text: text, path: path)
    }
}
