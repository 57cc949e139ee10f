import ArgumentParser
import PCast
import PCastCodecs
import PCastDevices
import PCastJSON

/// The command `pcast config`.
struct ConfigCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Check and print the configuration of serve, publish and subscribe.",
        subcommands: [ConfigCheckCommand.self, ConfigPrintCommand.self])
}

/// The command `pcast config check`.
struct ConfigCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration file, the environment and the device rules.",
        discussion: """
            Checks the names and values of all options of serve, publish and subscribe, as these commands do when they \
            start, and the device rules. Nothing is started, no device is opened and no name is resolved. The exit \
            status is 0 if all is valid, otherwise 2.

            Example:
              pcast config check --config /etc/pcast/pcast.yaml
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() throws {
        let console = Console(output)
        let serve = try Settings(command: "serve", config: configuration.config)
        _ = try ServeCommand.parse([]).platformConfiguration(serve) { _ in [] }
        let publish = try Settings(command: "publish", config: configuration.config)
        _ = try PublishCommand.parse([]).plan(publish)
        let subscribe = try Settings(command: "subscribe", config: configuration.config)
        _ = try SubscribeCommand.parse([]).plan(subscribe)
        // The options of this command do not replace those that are checked.
        let none = try OutputOptions.parse([])
        for settings in [serve, publish, subscribe] { _ = try none.verbosity(settings) }
        do throws(DeviceRulesError) { _ = try DeviceRules.standard } catch {
            throw CommandFailure(.unusableArguments, describing: error)
        }
        console.event("configuration", ["file": .text(serve.filePath), "valid": .boolean(true)])
        console.result(
            serve.filePath.map { "\($0) and the environment are valid." }
                ?? "There is no configuration file. The environment is valid.")
    }
}

/// The command `pcast config print`.
struct ConfigPrintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "print",
        abstract: "Print the options that are set, and where.",
        discussion: """
            Prints the options of serve, publish and subscribe from the environment and the configuration file as YAML, \
            each with its variable or line. The other options have the defaults of “--help”. Secrets are replaced by “…”.

            Example:
              pcast config print
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() throws {
        let console = Console(output)
        let sections = try ConfigurationFile.commands.map { command in
            (command, try Settings(command: command, config: configuration.config))
        }
        for (command, settings) in sections {
            for setting in settings.all {
                console.event(
                    "setting",
                    [
                        "command": .string(command), "option": .string(setting.name),
                        "values": .array(setting.shownValues.map { .string($0) }), "origin": .string(setting.origin),
                    ])
            }
        }
        if let path = sections.first?.1.filePath { console.result("# \(path)") }
        for (command, settings) in sections where !settings.all.isEmpty {
            console.result("\(command):")
            for setting in settings.all { console.result(setting.yaml) }
        }
    }
}

/// An option that is set in the environment or the configuration file.
struct Setting: Equatable {
    let name: String
    let values: [String]
    /// The variable, or the line of the file, such as `line 3`.
    let origin: String

    /// The values, with `…` in place of secrets.
    var shownValues: [String] {
        values.map { value in
            switch name {
            case "token", "metrics-token", "srt-passphrase", "cluster", "cluster-secret": "…"
            case "application": "\(value.prefix { $0 != ":" }):…"
            default: MediaName.withoutSecrets(value)
            }
        }
    }

    /// The lines of the option in YAML, with its origin.
    var yaml: String {
        let key = ConfigurationFile.key(name)
        let values = shownValues.map(Self.scalar)
        guard ConfigurationFile.repeatable.contains(name) else {
            return "  \(key): \(values.last ?? "")  # \(origin)"
        }
        return (["  \(key):  # \(origin)"] + values.map { "    - \($0)" }).joined(separator: "\n")
    }

    /// Returns a scalar of YAML: in quotes if the text might have a meaning of its own.
    static func scalar(_ text: String) -> String {
        let isPlain =
            text.wholeMatch(of: /[A-Za-z0-9.\/_+…][A-Za-z0-9.\/_+…@%=:,-]*/) != nil && !text.hasSuffix(":")
        if isPlain { return text }
        var quoted = ""
        for scalar in JSONValue.string(text).text.unicodeScalars {
            switch scalar.value {
            // JSON permits these characters, but YAML reads them as line breaks or rejects them (YAML 1.1, chapter 5).
            case 0x7F...0x9F, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted
    }
}
