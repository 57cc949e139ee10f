import CXCB
import Glibc
import PCastIO

/// Memory that the server writes images into (MIT-SHM): a screen's picture through the socket would take longer than one
/// has. Given back by the kernel when both sides have let go, whatever becomes of either.
final class XSharedMemory {
    let byteCount: Int
    let address: UnsafeMutableRawPointer
    let segment: xcb_shm_seg_t
    private let server: XServer

    /// Nil where the server cannot reach our memory: on another machine, or in another namespace.
    init?(byteCount: Int, server: XServer) {
        let id = shmget(IPC_PRIVATE, byteCount, 0o600)
        guard id >= 0 else { return nil }
        // Gone with its last user, from now on.
        defer { shmctl(id, IPC_RMID, nil) }
        guard let address = shmat(id, nil, 0), Int(bitPattern: address) != -1 else { return nil }
        segment = xcb_generate_id(server.connection)
        guard server.confirm(xcb_shm_attach_checked(server.connection, segment, UInt32(id), 0)) else {
            shmdt(address)
            return nil
        }
        self.byteCount = byteCount
        self.address = address
        self.server = server
    }

    deinit {
        let (connection, segment) = (server.connection, segment)
        BrokenPipe.blocked {
            xcb_shm_detach(connection, segment)
            _ = xcb_flush(connection)
        }
        shmdt(address)
    }
}
