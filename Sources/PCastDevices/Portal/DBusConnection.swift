import CDBus
import Glibc
import PCastCore
import PCastIO

/// A connection to the session bus of the desktop. libdbus is loaded at run time. Only one thread may use it at a time.
final class DBusConnection {
    /// The library and the connection of libdbus.
    private let calls: cdbus_library
    private let connection: UnsafeMutableRawPointer

    /// Connects to the bus of `DBUS_SESSION_BUS_ADDRESS`, or to `$XDG_RUNTIME_DIR/bus`. It starts no bus. Throws
    /// `DeviceError.notFound`.
    init() throws(DeviceError) {
        guard Self.mayHaveBus() else {
            throw .notFound("desktop portal", lookedIn: "the session bus (DBUS_SESSION_BUS_ADDRESS), which is not set")
        }
        guard let calls = DBusLibrary.shared?.calls else {
            throw .notFound("desktop portal", lookedIn: "the session bus, because libdbus-1.so.3 is not installed")
        }
        var error = cdbus_error()
        calls.error_init(&error)
        guard let connection = calls.bus_get_private(Int32(CDBUS_SESSION_BUS), &error) else {
            let reason = error.message.map { String(cString: $0) } ?? "it does not respond"
            calls.error_free(&error)
            throw .notFound("desktop portal", lookedIn: "the session bus (\(reason))")
        }
        calls.connection_set_exit_on_disconnect(connection, 0)
        (self.calls, self.connection) = (calls, connection)
    }

    deinit {
        calls.connection_close(connection)
        calls.connection_unref(connection)
    }

    /// Returns whether a bus may exist. Without this check, libdbus would start one.
    static func mayHaveBus(
        environment: (String) -> String? = { getenv($0).map { String(cString: $0) } },
        exists: (String) -> Bool = { access($0, F_OK) == 0 }
    ) -> Bool {
        if let address = environment("DBUS_SESSION_BUS_ADDRESS"), !address.isEmpty { return true }
        guard let folder = environment("XDG_RUNTIME_DIR"), !folder.isEmpty else { return false }
        return exists("\(folder)/bus")
    }

    /// Returns whether a text is the path of an object. Paths come from other programs, and libdbus ends this program if
    /// one is invalid.
    static func isPath(_ text: String) -> Bool {
        guard text.utf8.first == UInt8(ascii: "/") else { return false }
        let elements = text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text == "/"
            || elements.allSatisfy { element in
                !element.isEmpty
                    && element.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            }
    }

    /// Whether the bus is connected.
    var isConnected: Bool { calls.connection_get_is_connected(connection) != 0 }

    /// The name of this connection on the bus, such as `:1.42`.
    var name: String { calls.bus_get_unique_name(connection).map { String(cString: $0) } ?? "" }

    /// Requests the signals that match a rule.
    func follow(_ rule: String) { calls.bus_add_match(connection, rule, nil) }

    /// Calls a method, and waits for the response. Signals that arrive meanwhile are kept for `signals`. Throws
    /// `DBusFailure` if there is an error or no response in time.
    func call(
        _ method: DBusMethod, _ arguments: [DBusValue], within timeout: TimeSpan
    ) throws(DBusFailure) -> [DBusValue] {
        let message = try message(method, arguments)
        defer { calls.message_unref(message) }
        var error = cdbus_error()
        calls.error_init(&error)
        let milliseconds = Int32(clamping: max(1, timeout.nanoseconds / 1_000_000))
        guard let reply = calls.connection_send_with_reply_and_block(connection, message, milliseconds, &error) else {
            defer { calls.error_free(&error) }
            throw DBusFailure(
                name: error.name.map { String(cString: $0) } ?? "",
                reason: error.message.map { String(cString: $0) } ?? "there is no response")
        }
        defer { calls.message_unref(reply) }
        return values(of: reply)
    }

    /// Calls a method without waiting for the response.
    func send(_ method: DBusMethod, _ arguments: [DBusValue] = []) {
        guard let message = try? message(method, arguments) else { return }
        _ = calls.connection_send(connection, message, nil)
        calls.connection_flush(connection)
        calls.message_unref(message)
    }

    /// Returns the signals that have arrived, without waiting.
    func signals() -> [DBusSignal] {
        _ = calls.connection_read_write(connection, 0)
        var signals: [DBusSignal] = []
        while let message = calls.connection_pop_message(connection) {
            defer { calls.message_unref(message) }
            guard calls.message_get_type(message) == Int32(CDBUS_SIGNAL),
                let member = calls.message_get_member(message)
            else { continue }
            signals.append(
                DBusSignal(
                    path: calls.message_get_path(message).map { String(cString: $0) } ?? "",
                    member: String(cString: member), arguments: values(of: message)))
        }
        return signals
    }

    // MARK: Messages

    private func message(
        _ method: DBusMethod, _ arguments: [DBusValue]
    ) throws(DBusFailure) -> UnsafeMutableRawPointer {
        let paths = arguments.compactMap { argument -> String? in
            if case .path(let path) = argument { path } else { nil }
        }
        guard (paths + [method.path]).allSatisfy({ Self.isPath($0) }),
            let message = calls.message_new_method_call(method.service, method.path, method.interface, method.member)
        else { throw DBusFailure(name: "", reason: "the message is invalid") }
        var iterator = cdbus_iterator()
        calls.message_iter_init_append(message, &iterator)
        for argument in arguments { append(argument, to: &iterator) }
        return message
    }

    private func append(_ value: DBusValue, to iterator: inout cdbus_iterator) {
        switch value {
        case .text(let text): append(text, Int32(CDBUS_STRING), to: &iterator)
        case .path(let path): append(path, Int32(CDBUS_OBJECT_PATH), to: &iterator)
        case .number(let number):
            var number = UInt32(truncatingIfNeeded: number)
            _ = calls.message_iter_append_basic(&iterator, Int32(CDBUS_UINT32), &number)
        case .boolean(let boolean):
            var number: UInt32 = boolean ? 1 : 0
            _ = calls.message_iter_append_basic(&iterator, Int32(CDBUS_BOOLEAN), &number)
        case .options(let options):
            var (array, entry, variant) = (cdbus_iterator(), cdbus_iterator(), cdbus_iterator())
            _ = calls.message_iter_open_container(&iterator, Int32(CDBUS_ARRAY), "{sv}", &array)
            for (key, value) in options.sorted(by: { $0.key < $1.key }) {
                _ = calls.message_iter_open_container(&array, Int32(CDBUS_ENTRY), nil, &entry)
                append(key, Int32(CDBUS_STRING), to: &entry)
                _ = calls.message_iter_open_container(
                    &entry, Int32(CDBUS_VARIANT), value.signature, &variant)
                append(value, to: &variant)
                _ = calls.message_iter_close_container(&entry, &variant)
                _ = calls.message_iter_close_container(&array, &entry)
            }
            _ = calls.message_iter_close_container(&iterator, &array)
        case .list, .descriptor, .other: break
        }
    }

    private func append(_ text: String, _ type: Int32, to iterator: inout cdbus_iterator) {
        text.withCString { pointer in
            var pointer: UnsafePointer<CChar>? = pointer
            _ = calls.message_iter_append_basic(&iterator, type, &pointer)
        }
    }

    private func values(of message: UnsafeMutableRawPointer) -> [DBusValue] {
        var iterator = cdbus_iterator()
        guard calls.message_iter_init(message, &iterator) != 0 else { return [] }
        return values(&iterator)
    }

    /// Reads the values from an iterator on. libdbus limits the depth of a message.
    private func values(_ iterator: inout cdbus_iterator) -> [DBusValue] {
        var values: [DBusValue] = []
        while true {
            let type = calls.message_iter_get_arg_type(&iterator)
            guard type != 0 else { return values }
            values.append(value(&iterator, type))
            _ = calls.message_iter_next(&iterator)
        }
    }

    private func value(_ iterator: inout cdbus_iterator, _ type: Int32) -> DBusValue {
        switch Int(type) {
        case CDBUS_STRING, CDBUS_OBJECT_PATH:
            var text: UnsafePointer<CChar>?
            calls.message_iter_get_basic(&iterator, &text)
            let string = text.map { String(cString: $0) } ?? ""
            return Int(type) == CDBUS_STRING ? .text(string) : .path(string)
        case CDBUS_UINT32:
            var number: UInt32 = 0
            calls.message_iter_get_basic(&iterator, &number)
            return .number(Int(number))
        case CDBUS_INT32:
            var number: Int32 = 0
            calls.message_iter_get_basic(&iterator, &number)
            return .number(Int(number))
        case CDBUS_BOOLEAN:
            var number: UInt32 = 0
            calls.message_iter_get_basic(&iterator, &number)
            return .boolean(number != 0)
        case CDBUS_DESCRIPTOR:
            var number: Int32 = -1
            calls.message_iter_get_basic(&iterator, &number)
            return .descriptor(number)
        case CDBUS_VARIANT:
            return children(&iterator).first ?? .other
        case CDBUS_ARRAY, CDBUS_STRUCTURE, CDBUS_ENTRY:
            let elements = children(&iterator)
            guard Int(type) == CDBUS_ARRAY else { return .list(elements) }
            let pairs = elements.compactMap(\.pair)
            guard !elements.isEmpty, pairs.count == elements.count else { return .list(elements) }
            return .options(Dictionary(pairs) { first, _ in first })
        default: return .other
        }
    }

    private func children(_ iterator: inout cdbus_iterator) -> [DBusValue] {
        var inner = cdbus_iterator()
        calls.message_iter_recurse(&iterator, &inner)
        return values(&inner)
    }
}

/// libdbus, which is loaded at run time. It does not change the process's handling of SIGPIPE.
private struct DBusLibrary: @unchecked Sendable {  // initialized before it is shared
    let calls: cdbus_library

    /// The library; nil if it cannot be loaded.
    static let shared: DBusLibrary? = {
        var calls = cdbus_library()
        var reason: UnsafePointer<CChar>?
        guard cdbus_load(&calls, &reason) == 1, calls.threads_init_default() != 0 else { return nil }
        calls.connection_set_change_sigpipe(0)
        return DBusLibrary(calls: calls)
    }()
}

/// A method of an object on the bus.
struct DBusMethod {
    var service: String
    var path: String
    var interface: String
    var member: String
}

/// A signal that arrived.
struct DBusSignal {
    var path: String
    var member: String
    var arguments: [DBusValue]
}

/// An error response, or none in time.
struct DBusFailure: Error, Hashable {
    var name: String
    var reason: String

    /// Whether there was no response in time.
    var isTimeout: Bool {
        ["NoReply", "Timeout", "TimedOut"].contains { name == "org.freedesktop.DBus.Error.\($0)" }
    }
}

/// A value of a message, in as much detail as the portal requires.
enum DBusValue: Hashable {
    case text(String)
    case path(String)
    case number(Int)
    case boolean(Bool)
    /// A dictionary of variants by text. An empty one is read as an empty list.
    case options([String: DBusValue])
    /// An array, a structure or an entry.
    case list([DBusValue])
    /// A file descriptor, which belongs to the reader.
    case descriptor(Int32)
    case other

    /// The signature of a value in a variant.
    var signature: String {
        switch self {
        case .text: "s"
        case .path: "o"
        case .number: "u"
        case .boolean: "b"
        case .options: "a{sv}"
        case .list, .descriptor, .other: ""
        }
    }

    var text: String? {
        switch self {
        case .text(let text), .path(let text): text
        default: nil
        }
    }

    var number: Int? { if case .number(let number) = self { number } else { nil } }

    var list: [DBusValue] { if case .list(let elements) = self { elements } else { [] } }

    var options: [String: DBusValue] { if case .options(let options) = self { options } else { [:] } }

    /// The key and the value of an entry; nil for other values.
    fileprivate var pair: (String, DBusValue)? {
        guard case .list(let parts) = self, parts.count == 2, case .text(let key) = parts[0] else { return nil }
        return (key, parts[1])
    }
}
