// Offers bytes of this page as a download.

export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The download has taken the content by the next task.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
