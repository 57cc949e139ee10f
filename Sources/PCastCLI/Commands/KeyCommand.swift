import ArgumentParser
import PCastCore
import PCastJSON

/// The command `pcast key`.
struct KeyCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Create, list, rotate and revoke the stream keys of encoders that publish by RTMP and SRT.",
        subcommands: [
            KeyCreateCommand.self, KeyListCommand.self, KeyShowCommand.self, KeyRotateCommand.self,
            KeyRevokeCommand.self,
        ])

    /// Reports a key with its secret.
    static func report(_ key: PlatformAdministration.StreamKey, _ console: Console) {
        console.event(
            "key",
            [
                "name": .string(key.name), "streamKey": .string(key.streamKey ?? ""),
                "tags": .array(key.tags.map { .string($0) }),
                "capabilities": .array(key.capabilities.map { .string($0) }), "limits": limits(of: key),
            ])
        console.result(key.streamKey ?? "")
    }

    /// The limits of a key that has any; those that it lacks are absent.
    static func limits(of key: PlatformAdministration.StreamKey) -> JSONValue {
        var limits = JSONObject()
        limits["bitrate"] = key.limits?.bitrate.map { .count($0) }
        limits["width"] = key.limits?.width.map { .count($0) }
        limits["height"] = key.limits?.height.map { .count($0) }
        limits["connections"] = key.limits?.connections.map { .count($0) }
        return .object(limits)
    }
}

/// The command `pcast key create`.
struct KeyCreateCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a stream key and print it.",
        discussion: """
            For an existing name, the key stays the same, and its tags, capabilities and limits are replaced.

            Example:
              pcast key create studio-1 --tag studio --max-bitrate 6M \\
                --max-size 1920x1080
            """)

    @Argument(help: "Name of the key: letters, digits, dashes and underscores.")
    var name: String

    /// The options for the streams of a key.
    struct StreamOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Tag of the streams that are published with the key. Repeatable.", valueName: "tag"))
        var tag: [String] = []

        @Option(help: ArgumentHelp("Capability of these streams. Repeatable.", valueName: "capability"))
        var capability: [String] = []

        @Option(help: ArgumentHelp("Maximum bit rate of each stream, such as 6M. (default: none)", valueName: "rate"))
        var maxBitrate: BitrateArgument?

        @Option(
            help: ArgumentHelp("Maximum size of the video, such as 1920x1080. (default: none)", valueName: "size"))
        var maxSize: SizeArgument?

        @Option(
            help: ArgumentHelp("Number of publishers that may use the key at once. (default: 1)", valueName: "number"))
        var maxConnections: Int?

        /// The limits.
        var limits: PlatformAdministration.StreamKeyLimits {
            PlatformAdministration.StreamKeyLimits(
                bitrate: maxBitrate?.bitrate.bitsPerSecond, width: maxSize?.width, height: maxSize?.height,
                connections: maxConnections)
        }
    }

    @OptionGroup(title: "Streams") var streams: StreamOptions

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        KeyCommand.report(
            try await administration.administration().setKey(
                name, tags: streams.tag, capabilities: streams.capability, limits: streams.limits),
            console)
    }
}

/// The command `pcast key list`.
struct KeyListCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the stream keys of an application without their secrets.",
        discussion: """
            Example:
              pcast key list --uri https://live.example.com --application app:secret
            """)

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        let keys = try await administration.administration().keys()
        for key in keys {
            console.event(
                "key",
                [
                    "name": .string(key.name), "tags": .array(key.tags.map { .string($0) }),
                    "capabilities": .array(key.capabilities.map { .string($0) }), "limits": KeyCommand.limits(of: key),
                ])
            console.result(([key.name] + key.tags + key.capabilities).joined(separator: "  "))
        }
        if keys.isEmpty { console.inform("There are no stream keys.") }
    }
}

/// The command `pcast key show`.
struct KeyShowCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print a stream key.",
        discussion: """
            Example:
              pcast key show studio-1
            """)

    @Argument(help: "Name of the key, as “pcast key list” prints it.")
    var name: String

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        KeyCommand.report(try await administration.administration().key(name), console)
    }
}

/// The command `pcast key rotate`.
struct KeyRotateCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Replace a stream key by a new one and print it. A stream with the former one ends.",
        discussion: """
            Example:
              pcast key rotate studio-1
            """)

    @Argument(help: "Name of the key, as “pcast key list” prints it.")
    var name: String

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        KeyCommand.report(try await administration.administration().rotateKey(name), console)
    }
}

/// The command `pcast key revoke`.
struct KeyRevokeCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a stream key. A stream that is published with it ends.",
        discussion: """
            Example:
              pcast key revoke studio-1
            """)

    @Argument(help: "Name of the key, as “pcast key list” prints it.")
    var name: String

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        try await administration.administration().revokeKey(name)
        console.event("revoked", ["name": .string(name)])
        console.inform("Revoked the stream key \(name).")
    }
}
