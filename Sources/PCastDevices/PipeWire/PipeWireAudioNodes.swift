import PCastCore
import PCastIO

/// The audio of a PipeWire server: its outputs, the programs that play, and the microphones that ALSA does not have.
enum PipeWireAudioNodes {
    /// The use of a node.
    enum Kind: Hashable {
        /// An output, whose played audio is captured.
        case output
        /// A microphone that ALSA does not have.
        case microphone
        /// A stream that a program plays.
        case program
    }

    /// A node by its identifier and its serial.
    struct Node: Hashable {
        var id: UInt32
        var serial: String
        /// The name, which the session manager keeps across restarts.
        var name: String
        /// The name for display.
        var description: String
        /// The names of the program that plays: its own name, and that of its executable file.
        var programs: [String]

        /// Returns whether it belongs to a program of this name. Upper and lower case are equal.
        func belongs(to name: String) -> Bool { programs.contains { $0.lowercased() == name.lowercased() } }
    }

    /// Returns the use of a node by its properties; nil if its audio is not captured.
    static func kind(_ properties: [String: String]) -> Kind? {
        guard properties["node.name"]?.isEmpty == false else { return nil }
        switch properties["media.class"] {
        case "Audio/Sink": return .output
        // Devices of ALSA are listed by their cards.
        case "Audio/Source", "Audio/Source/Virtual": return properties["device.api"] == "alsa" ? nil : .microphone
        case "Stream/Output/Audio": return .program
        default: return nil
        }
    }

    /// Returns all nodes of a use, in the order of their identifiers.
    static func all(_ kind: Kind, in state: PipeWireRegistry.State) -> [Node] {
        state.nodes.sorted { $0.key < $1.key }.filter { self.kind($0.value.properties) == kind }.map { id, node in
            let properties = node.properties
            let client = properties["client.id"].flatMap { UInt32($0) }.flatMap { state.clients[$0] } ?? [:]
            let name = properties["node.name"] ?? ""
            let names = ["node.description", "node.nick"].compactMap { properties[$0] } + [name]
            let programs = [
                properties["application.name"], client["application.name"], properties["application.process.binary"],
                client["application.process.binary"],
            ]
            return Node(
                id: id, serial: properties["object.serial"] ?? "\(id)", name: name,
                description: names.first { !$0.isEmpty } ?? name,
                programs: programs.compactMap(\.self).filter { !$0.isEmpty })
        }
    }
}

/// The audio of a PipeWire server, as sources.
package enum PipeWireAudio {
    /// The prefix of the identifiers.
    static let prefix = "pipewire:"

    /// The identifier of the default output, with WirePlumber's own name for it.
    package static let standardID = prefix + "@DEFAULT_AUDIO_SINK@"

    /// The time for the answer of the server.
    static let timeout = TimeSpan.seconds(2)

    /// Returns the microphones that ALSA does not have, the default output, every output, and the programs that play; empty
    /// without a server.
    package static func enumerate() -> [SourceDevice] { state().map(devices) ?? [] }

    /// Returns whether a server has outputs, microphones or programs, also those of ALSA.
    static func hasNodes() -> Bool {
        let classes = ["Audio/Sink", "Audio/Source", "Audio/Source/Virtual", "Stream/Output/Audio"]
        return state()?.nodes.values.contains { classes.contains($0.properties["media.class"] ?? "") } ?? false
    }

    /// Returns the sources of a server's nodes.
    static func devices(_ state: PipeWireRegistry.State) -> [SourceDevice] {
        let outputs = PipeWireAudioNodes.all(.output, in: state)
        // A single output is the default one. Of several, the session manager chooses.
        let suffix = outputs.count == 1 ? " (\(outputs[0].description))" : ""
        let standard = device(standardID, "Audio output of this host\(suffix)", .systemOutput)
        var found =
            PipeWireAudioNodes.all(.microphone, in: state).map {
                device(prefix + $0.name, $0.description, .physical)
            } + (outputs.isEmpty ? [] : [standard])
            + outputs.map { device(prefix + $0.name, "Audio of \($0.description)", .systemOutput) }
        for name in PipeWireAudioNodes.all(.program, in: state).compactMap(\.programs.first) {
            let id = ApplicationAudio.prefix + name
            guard !found.contains(where: { $0.info.id.lowercased() == id.lowercased() }) else { continue }
            found.append(ApplicationAudio.device(name))
        }
        return found
    }

    /// Returns the device of a program that plays, by its name or that of its executable file. Throws
    /// `DeviceError.notFound`.
    static func find(_ name: String) throws(DeviceError) -> SourceDevice {
        let programs = state().map { PipeWireAudioNodes.all(.program, in: $0) } ?? []
        guard programs.contains(where: { $0.belongs(to: name) }) else {
            throw .notFound("\(ApplicationAudio.prefix)\(name)", lookedIn: "the programs that play audio")
        }
        return ApplicationAudio.device(name)
    }

    /// Returns the name of a node from the identifier of a device; nil for another identifier.
    static func name(inID id: String) -> String? {
        id.hasPrefix(prefix) ? String(id.dropFirst(prefix.count)) : nil
    }

    /// Returns the objects of the server; nil without a server.
    private static func state() -> PipeWireRegistry.State? {
        guard PipeWireServerProbe.mayHaveServer(), let registry = try? PipeWireRegistry(.audio) else { return nil }
        defer { registry.close() }
        return registry.wait(until: MonotonicClock.now() + timeout) { state in
            state.isComplete || state.end != nil ? state : nil
        }
    }

    private static func device(
        _ id: String, _ name: String, _ type: SourceDeviceInfo.DeviceType
    ) -> SourceDevice {
        SourceDevice(
            info: SourceDeviceInfo(id: id, name: name, mediaType: .audio, deviceType: type),
            identity: DeviceIdentity(name: name),
            capabilities: .audio(
                AudioCapabilities(
                    sampleRates: [AudioFrame.sampleRate], channels: 1...2, canCancelEcho: type == .physical)))
    }
}
