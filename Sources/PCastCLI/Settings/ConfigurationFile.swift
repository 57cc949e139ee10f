import ArgumentParser
import Foundation

/// The configuration file with default values of options.
///
/// It has the sections `[serve]`, `[publish]` and `[subscribe]` with lines `option = value`. Options have their names
/// of the command line without dashes. Lines that begin with `#` are comments. An option that may be repeated has a
/// line for each value. The maximum size is 64 KiB.
struct ConfigurationFile: Equatable {
    static let maximumSize = 64 * 1024

    /// The options of each command.
    static let options: [String: Set<String>] = [
        "serve": [
            "listen", "rtc-port", "shards", "advertise", "stun", "data", "application", "tls-port", "tls-certificate",
            "tls-key", "turn-host", "data-key", "retention", "webhook-allow", "session-timeout", "reconnect-grace",
            "media-allow",
            "srt-pull-ports", "media-directory", "max-jobs", "limit", "trusted-proxy", "forwarded-header",
            "metrics-token",
            "frame-ancestor", "drain-time", "log-level", "verbose", "quiet",
        ],
        "publish": [
            "uri", "token", "video", "audio", "tag", "for", "listen", "codec", "encoder", "bitrate",
            "size", "fps", "video-constraint", "audio-constraint", "reencode", "on-demand", "layers", "resume",
            "preview", "no-reconnect", "captions", "log-level", "verbose", "quiet",
        ],
        "subscribe": [
            "uri", "token", "stream", "for", "render", "screenshot", "record", "no-reconnect", "log-level", "verbose",
            "quiet",
        ],
    ]

    /// The values by `command.option`, in the order of the lines.
    private(set) var values: [String: [String]] = [:]

    init() {}

    /// Parses a file.
    ///
    /// - Throws: ``CommandFailure`` with the number of an invalid line.
    init(text: String, path: String) throws(CommandFailure) {
        var command: String?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            func refusal(_ reason: String) -> CommandFailure {
                CommandFailure(.unusableArguments, "\(path), line \(index + 1): \(reason).")
            }
            if line.hasPrefix("["), line.hasSuffix("]") {
                let name = String(line.dropFirst().dropLast())
                guard Self.options[name] != nil else {
                    let nearest = NearestName.suggestion(name, among: Self.options.keys) { "[\($0)]" }
                    throw refusal("the section [\(name)] does not exist\(nearest)")
                }
                command = name
                continue
            }
            guard let command else {
                throw refusal("the option is outside of a section; write a section such as [serve] before it")
            }
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

    /// Reads the requested file, or the user's own one if it exists.
    ///
    /// - Throws: ``CommandFailure``.
    static func load(named path: String?, environment: [String: String]) throws(CommandFailure) -> ConfigurationFile {
        if let named = path ?? environment["PCAST_CONFIG"] {
            guard let file = try read(named) else {
                throw CommandFailure(
                    .unusableArguments,
                    "The configuration file \(named) cannot be read: check its path and permissions.")
            }
            return file
        }
        guard let own = self.path(named: nil, environment: environment), let file = try read(own) else {
            return ConfigurationFile()
        }
        return file
    }

    /// Returns the path of the file, which need not exist; nil if the user has no home directory.
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
            throw CommandFailure(
                .unusableArguments, "\(path) is larger than 64 KiB or not UTF-8: check that it is a configuration file."
            )
        }
        return try ConfigurationFile(text: text, path: path)
    }
}

/// Suggestions for misspelled names.
enum NearestName {
    /// Returns a suggestion such as `; did you mean “listen”?`; empty text if no name is similar.
    static func suggestion(
        _ name: String, among names: some Sequence<String>, written: (String) -> String = { "“\($0)”" }
    ) -> String {
        find(name, among: names).map { " (did you mean \(written($0))?)" } ?? ""
    }

    /// Returns the name with the smallest distance; nil if the distance exceeds a third of the letters.
    static func find(_ name: String, among names: some Sequence<String>) -> String? {
        let ranked = names.sorted().map { (name: $0, distance: distance(name, $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, max(name.count, best.name.count) / 3) ? best.name : nil
    }

    /// Returns the number of letters that must be changed, inserted, deleted, or swapped with the next one (optimal
    /// string alignment, a variant of the Damerau-Levenshtein distance).
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var rows = [Array(0...right.count)]
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                let change = rows[i][j] + (left[i] == right[j] ? 0 : 1)
                var best = min(change, rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}

/// The options of commands that read the configuration file.
struct ConfigurationOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Configuration file. (default: ~/.config/pcast/pcast.conf)", valueName: "file"))
    var config: String?
}
