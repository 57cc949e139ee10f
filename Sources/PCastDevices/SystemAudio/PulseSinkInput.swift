import CPulse

/// The audio that one program plays on a sink of an audio server.
struct PulseSinkInput: Hashable {
    /// The server's number of it.
    let index: UInt32
    /// The names of the program: its own name, and that of its executable file.
    let names: [String]

    /// Returns all of a server. Streams of the server itself, which belong to no program, have no names.
    static func all(of server: PulseServer) -> [PulseSinkInput] {
        let found: [PulseSinkInput]? = server.ask { context, pointer, _ in
            pa_context_get_sink_input_info_list(
                context, { _, info, end, pointer in PulseSinkInput.receive(info, end, pointer) }, pointer)
        }
        return found ?? []
    }

    /// Returns whether it belongs to a program of this name. Upper and lower case are equal.
    func belongs(to name: String) -> Bool { names.contains { $0.lowercased() == name.lowercased() } }

    private static func receive(
        _ info: UnsafePointer<pa_sink_input_info>?, _ end: Int32, _ pointer: UnsafeMutableRawPointer?
    ) {
        let answer = PulseReply<PulseSinkInput>.at(pointer)
        guard end == 0, let info = info?.pointee else { return answer.end() }
        let names = ["application.name", "application.process.binary"].compactMap { (key: String) in
            pa_proplist_gets(info.proplist, key).map { String(cString: $0) }
        }
        answer.append(PulseSinkInput(index: info.index, names: names.filter { !$0.isEmpty }))
    }
}

/// Detects programs that begin or end to play on an audio server. Only one thread may use it at a time.
final class SinkInputMonitor {
    private let server: PulseServer
    private var hasChanged = true

    init(of server: PulseServer) {
        self.server = server
        pa_context_set_subscribe_callback(
            server.context,
            { _, _, _, pointer in
                Unmanaged<SinkInputMonitor>.fromOpaque(pointer!).takeUnretainedValue().hasChanged = true
            }, Unmanaged.passUnretained(self).toOpaque())
        if let operation = pa_context_subscribe(server.context, PA_SUBSCRIPTION_MASK_SINK_INPUT, nil, nil) {
            pa_operation_unref(operation)
        }
    }

    deinit { pa_context_set_subscribe_callback(server.context, nil, nil) }

    /// Returns the streams if they may have changed since the last call; nil otherwise.
    func changed() -> [PulseSinkInput]? {
        guard hasChanged else { return nil }
        hasChanged = false
        return PulseSinkInput.all(of: server)
    }
}
