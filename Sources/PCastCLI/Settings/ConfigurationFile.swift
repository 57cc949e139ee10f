import ArgumentParser
import Foundation
import PCastPlatform
import PCastYAML

/// The configuration file with default values of options, in YAML.
///
/// It has the sections `serve`, `publish`, `subscribe` and `streams`, which are mappings. The names of `streams` are
/// those of declared streams (`StreamsSection`). In the other sections, the keys are the names of the command
/// line in camel case, such as `rtcPort` for `--rtc-port`. An option that may be repeated has a list. Options whose values
/// are `NAME=VALUE` may have a mapping instead. The maximum size is 64 KiB.
struct ConfigurationFile: Equatable {
    static let maximumSize = 64 * 1024

    /// The commands with options in the file.
    static let commands = ["serve", "publish", "subscribe"]

    /// The options of each command.
    static let options: [String: Set<String>] = [
        "serve": [
            "listen", "rtc-port", "shards", "advertise", "stun", "data", "application", "tls-port", "tls-certificate",
            "administrator",
            "tls-key", "rtmp-port", "rtmps-port", "rtmp-takeover", "srt-port", "srt-latency", "srt-passphrase",
            "tls-self-signed", "acme-webroot", "turn-host", "data-key", "retention", "webhook-allow",
            "session-timeout", "reconnect-grace", "member-timeout", "create-rooms",
            "conversation-retention", "srt-audio",
            "media-allow", "srt-pull-ports", "media-directory", "max-jobs", "limit", "trusted-proxy",
            "forwarded-header", "metrics-token", "jwt-keys", "jwt-issuer", "jwt-audience", "otlp-endpoint",
            "frame-ancestor", "drain-time", "hls", "hls-part", "hls-segment", "hls-window", "hls-window-in-memory",
            "hls-encryption", "renditions", "max-renditions", "second-codec", "record", "recordings", "recording-sync",
            "recording-retention", "recording-size", "s3-endpoint", "s3-bucket", "s3-region", "s3-prefix",
            "s3-credentials", "s3-delete-local", "origin", "edge-cache", "cluster", "node", "region", "cluster-secret",
            "cluster-address", "cluster-credentials", "cluster-authority", "log-level", "verbose", "quiet",
        ],
        "publish": [
            "uri", "token", "video", "audio", "tag", "for", "listen", "codec", "encoder", "bitrate",
            "size", "fps", "no-scale", "video-constraint", "audio-constraint", "reencode", "on-demand", "layers",
            "resume", "preview", "no-reconnect", "captions", "log-level", "verbose", "quiet",
        ],
        "subscribe": [
            "uri", "token", "stream", "for", "render", "screenshot", "record", "playout-delay", "no-reconnect",
            "log-level", "verbose", "quiet",
        ],
    ]

    /// The options that may be repeated.
    static let repeatable: Set<String> = [
        "advertise", "stun", "application", "webhook-allow", "media-allow", "limit", "trusted-proxy", "frame-ancestor",
        "token", "tag", "cluster", "video-constraint", "audio-constraint", "origin",
    ]

    /// The options whose values are `NAME=VALUE`.
    private static let named: Set<String> = ["limit", "video-constraint", "audio-constraint"]

    /// Returns the key of an option: its name in camel case.
    static func key(_ option: String) -> String {
        let words = option.split(separator: "-")
        return words.dropFirst().reduce(String(words.first ?? "")) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
    }

    /// The values of an option in the file.
    struct Entry: Equatable {
        let values: [String]
        /// The line of the option, starting at 1.
        let line: Int
    }

    /// The path; nil without a file.
    let path: String?
    /// The entries by `command.option`.
    private(set) var entries: [String: Entry] = [:]
    /// The declared streams.
    private(set) var streams = StreamDeclarations()

    /// The name of the section with declared streams.
    static let streamsSection = "streams"

    init() { path = nil }

    /// Parses a file.
    ///
    /// - Throws: ``CommandFailure`` with the line of a mistake.
    init(text: String, path: String) throws(CommandFailure) {
        self.path = path
        do throws(YAMLError) {
            for section in try YAMLValue.read(text).members("the configuration") {
                if section.name == Self.streamsSection {
                    streams = try StreamsSection.read(section)
                    continue
                }
                guard let options = Self.options[section.name] else {
                    let nearest = NearestName.suggestion(
                        section.name, among: Self.commands + [Self.streamsSection])
                    throw YAMLError(
                        line: section.line, reason: "the section “\(section.name)” does not exist\(nearest)")
                }
                if section.value.content == .null { continue }
                for member in try section.value.members("the section “\(section.name)”") {
                    guard let option = options.first(where: { Self.key($0) == member.name }) else {
                        let nearest = NearestName.suggestion(member.name, among: options.map(Self.key))
                        throw YAMLError(
                            line: member.line,
                            reason: "“pcast \(section.name)” has no option “\(member.name)”\(nearest)")
                    }
                    entries["\(section.name).\(option)"] = Entry(
                        values: try Self.values(of: option, member), line: member.line)
                }
            }
        } catch {
            let place = [path, error.line.map { "line \($0)" }].compactMap { $0 }.joined(separator: ", ")
            throw CommandFailure(.unusableArguments, "\(place): \(error.reason).")
        }
    }

    /// Returns the values of an option: a text, a list of texts, or the members of a mapping as `NAME=VALUE`.
    private static func values(of option: String, _ member: YAMLMember) throws(YAMLError) -> [String] {
        switch member.value.content {
        case .scalar(let text, _): return [text]
        case .null: throw member.refusal("has no value")
        case .list(let elements):
            guard repeatable.contains(option) else { throw member.refusal("has one value, not a list") }
            var values: [String] = []
            for element in elements {
                guard case .scalar(let text, _) = element.content else {
                    throw YAMLError(line: element.line, reason: "a value of “\(member.name)” must be a text")
                }
                values.append(text)
            }
            return values
        case .mapping(let members):
            guard named.contains(option) else { throw member.refusal("must be a text, not a mapping") }
            var values: [String] = []
            for value in members { values.append("\(value.name)=\(try value.text())") }
            return values
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
        return home.map { "\($0)/pcast/pcast.yaml" }
    }

    private static func read(_ path: String) throws(CommandFailure) -> ConfigurationFile? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        let data: Data
        do {
            // Nil is the end of the file: an empty file has no settings.
            data = try handle.read(upToCount: maximumSize + 1) ?? Data()
        } catch {
            return nil
        }
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
    @Option(help: ArgumentHelp("Configuration file. (default: ~/.config/pcast/pcast.yaml)", valueName: "file"))
    var config: String?
}
