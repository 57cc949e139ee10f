import ArgumentParser
import Foundation
import PCastPlatform

/// The options of a command. The command line has precedence over the environment, and that over the configuration
/// file. The commands define the defaults.
struct Settings {
    private let command: String
    private let environment: [String: String]
    private let file: ConfigurationFile
    /// The path of the configuration file, which need not exist.
    private(set) var path: String?

    /// The path of the configuration file that was read; nil if there is none.
    var filePath: String? { file.path }

    /// The declared streams of the configuration file.
    var streams: StreamDeclarations { file.streams }

    /// The options that are set in the environment or the file, by name.
    var all: [Setting] {
        (ConfigurationFile.options[command] ?? []).sorted().compactMap { name in
            if let text = environment[variable(name)] {
                let isList = ConfigurationFile.repeatable.contains(name)
                return Setting(
                    name: name, values: isList ? text.split(separator: ",").map(String.init) : [text],
                    origin: variable(name))
            }
            return entry(name).map { Setting(name: name, values: $0.values, origin: "line \($0.line)") }
        }
    }

    init(command: String, environment: [String: String], file: ConfigurationFile) {
        self.command = command
        self.environment = environment
        self.file = file
    }

    init(command: String, config path: String?) throws {
        let environment = ProcessInfo.processInfo.environment
        try Self.checkVariables(of: command, in: environment)
        self.init(
            command: command, environment: environment,
            file: try ConfigurationFile.load(named: path, environment: environment))
        self.path = ConfigurationFile.path(named: path, environment: environment)
    }

    /// Checks that the command has all options in the environment, because a misspelled variable would be ignored.
    ///
    /// - Throws: ``CommandFailure``.
    static func checkVariables(of command: String, in environment: [String: String]) throws(CommandFailure) {
        let prefix = variable("", of: command)
        let known = (ConfigurationFile.options[command] ?? []).map { variable($0, of: command) }
        for name in environment.keys.sorted() where name.hasPrefix(prefix) && !known.contains(name) {
            throw CommandFailure(
                .unusableArguments,
                "The variable \(name) is not an option of “pcast \(command)”\(NearestName.suggestion(name, among: known))."
            )
        }
    }

    /// Returns the value of an option; nil if it is not set. `given` is the value on the command line.
    ///
    /// - Throws: ``CommandFailure`` if the value is invalid.
    func value<Value: ExpressibleByArgument>(_ name: String, _ given: Value?) throws -> Value? {
        if let given { return given }
        if let text = environment[variable(name)] { return try parse(text, from: variable(name)) }
        if let text = entry(name)?.values.last { return try parse(text, from: inFile(name)) }
        return nil
    }

    /// Returns the values of an option that may be repeated. In the environment they are separated by commas.
    ///
    /// - Throws: ``CommandFailure`` if a value is invalid.
    func values<Value: ExpressibleByArgument>(_ name: String, _ given: [Value]) throws -> [Value] {
        if !given.isEmpty { return given }
        if let text = environment[variable(name)] {
            return try text.split(separator: ",").map { try parse(String($0), from: variable(name)) }
        }
        return try (entry(name)?.values ?? []).map { try parse($0, from: inFile(name)) }
    }

    /// Returns whether a flag is set. In the environment and the file its value is `true` or `1`.
    ///
    /// - Throws: ``CommandFailure`` if the value is invalid.
    func flag(_ name: String, _ given: Bool) throws -> Bool {
        if given { return true }
        guard let text = environment[variable(name)] ?? entry(name)?.values.last else { return false }
        switch text.lowercased() {
        case "1", "true", "yes": return true
        case "", "0", "false", "no": return false
        default:
            throw CommandFailure(.unusableArguments, "“\(name)” of \(command) is “\(text)”: use true or false.")
        }
    }

    private func variable(_ name: String) -> String { Self.variable(name, of: command) }

    private static func variable(_ name: String, of command: String) -> String {
        "PCAST_\(command.uppercased())_\(name.uppercased().replacing("-", with: "_"))"
    }

    private func entry(_ name: String) -> ConfigurationFile.Entry? { file.entries["\(command).\(name)"] }

    private func inFile(_ name: String) -> String {
        let place = [file.path, entry(name).map { "line \($0.line)" }].compactMap { $0 }.joined(separator: ", ")
        return "\(place): “\(ConfigurationFile.key(name))”"
    }

    /// Parses a value.
    ///
    /// - Throws: ``CommandFailure``, which does not contain the value because it may be a secret.
    private func parse<Value: ExpressibleByArgument>(_ text: String, from origin: String) throws -> Value {
        guard let value = Value(argument: text) else {
            throw CommandFailure(
                .unusableArguments, "\(origin) is invalid: see “pcast \(command) --help” for its format.")
        }
        return value
    }
}
