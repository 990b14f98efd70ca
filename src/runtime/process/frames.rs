//! Frames on a socket: four bytes of length, then JSON text.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::{RecvFlags, SendFlags};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A longer frame than this is not one of ours.
const LONGEST: usize = 256 * 1024 * 1024;
const HEAD: usize = 4;

/// One message as a frame.
///
/// # Errors
/// What cannot be written as JSON, which none of our messages is.
pub fn frame<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; HEAD];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - HEAD).map_err(|_| too_long(bytes.len()))?;
    bytes[..HEAD].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Sends a message whole, waiting where the other side is slow.
///
/// # Errors
/// Those of the socket: the other side is gone.
pub fn send<T: Serialize>(socket: impl AsFd, message: &T) -> io::Result<()> {
    send_bytes(socket.as_fd(), &frame(message)?, SendFlags::NOSIGNAL)
}

/// Sends a short message whole or not at all, without waiting.
///
/// # Errors
/// Those of the socket; also that it would have to wait.
pub fn send_now<T: Serialize>(socket: impl AsFd, message: &T) -> io::Result<()> {
    send_bytes(socket.as_fd(), &frame(message)?, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

fn send_bytes(socket: BorrowedFd<'_>, bytes: &[u8], flags: SendFlags) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::net::send(socket, rest, flags) {
            Ok(sent) => rest = &rest[sent..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// What has been received and not been taken yet.
#[derive(Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// The other side has closed.
    pub closed: bool,
}

impl Inbox {
    /// Receives once. Without `wait` nothing may have come.
    ///
    /// # Errors
    /// Those of the socket, but for an end by force, which is an end.
    pub fn receive(&mut self, socket: impl AsFd, wait: bool) -> io::Result<()> {
        let flags = if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        let mut chunk = [0_u8; 8 * 1024];
        loop {
            match rustix::net::recv(socket.as_fd(), &mut chunk[..], flags) {
                Ok((_, 0)) | Err(rustix::io::Errno::CONNRESET) => self.closed = true,
                Ok((read, _)) => self.bytes.extend_from_slice(&chunk[..read]),
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
            return Ok(());
        }
    }

    /// Puts a message that was taken in front of all others.
    ///
    /// # Errors
    /// What cannot be written as JSON, which none of our messages is.
    pub fn put_back<T: Serialize>(&mut self, message: &T) -> io::Result<()> {
        let mut bytes = frame(message)?;
        bytes.append(&mut self.bytes);
        self.bytes = bytes;
        Ok(())
    }

    /// The next whole message.
    ///
    /// # Errors
    /// A frame that is not one of ours.
    pub fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(head) = self.bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > LONGEST {
            return Err(too_long(length));
        }
        let Some(body) = self.bytes.get(HEAD..HEAD + length) else { return Ok(None) };
        let message = serde_json::from_slice(body)?;
        self.bytes.drain(..HEAD + length);
        Ok(Some(message))
    }
}

fn too_long(length: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes"))
}
